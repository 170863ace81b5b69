// A request for another node, and the interface that brings it there: between the cluster's store, which
// decides, and the sockets.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/binary_form.hpp"
#include "server/cluster/reply_frame.hpp"
#include "server/reply/reply_address.hpp"

namespace mxkv::server {

/// A forwarded request. Its reply goes to the client as it arrives.
struct ForwardedRequest {
  std::string text;         ///< the line, and the value behind it
  std::uint32_t shard = 0;  ///< its owner answers
  ReplyAddress address{};   ///< of the client; unused if `then` is set
  CommitSeq seq = 0;        ///< a write's number
  bool writes = false;      ///< it holds `seq`, and ends as a write
  bool changes = false;     ///< once sent, it may have changed data: it is never sent again
  bool end_line = true;     ///< false: further keys of its line follow, so its reply's END is left out
  reply_shape shape = reply_shape::one;
  protocol::BinaryForm binary{};  ///< given: the client speaks the binary protocol, and gets a packet
  std::string key{};              ///< for a binary reply that contains it
  std::function<void(std::string_view reply)> then{};  ///< gets the reply, once, instead of a client

  // For the forwarder: the request's way.
  std::uint64_t give_up_ns = 0;  ///< monotonic clock; 0: it was not held yet
  std::uint32_t sent_to = 0;     ///< the peer that has it

  // For the part that orders a client's writes.
  std::uint64_t key_of_client = 0;  ///< equal for all writes of one client to one key
  CommitSeq after = 0;              ///< the client's writes up to here that run on this node must end first
  bool goes = false;                ///< nothing holds it back any more
};

/// A forwarder's totals. One writer; any thread reads, relaxed.
struct ForwardCounters {
  std::atomic<std::uint64_t> requests{0};   ///< requests given to it
  std::atomic<std::uint64_t> again{0};      ///< how often a request was sent again, or to another node
  std::atomic<std::uint64_t> held{0};       ///< requests that had to wait for an owner
  std::atomic<std::uint64_t> no_owner{0};   ///< of these, requests that found no owner in time
  std::atomic<std::uint64_t> lost{0};       ///< writes with an unknown outcome
  std::atomic<std::uint64_t> no_memory{0};  ///< refused, because too much was in flight
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> connects{0};  ///< connections begun to peers

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

/// One for each worker. Thread-safety: owner worker only.
class RequestForwarder {
 public:
  RequestForwarder() = default;
  RequestForwarder(const RequestForwarder&) = delete;
  RequestForwarder& operator=(const RequestForwarder&) = delete;

  /// An empty request; a used one still has room in its text.
  [[nodiscard]] virtual std::unique_ptr<ForwardedRequest> take() = 0;
  /// Sends it to the shard's owner, and ends its operation, but not before this returns.
  virtual void forward(std::unique_ptr<ForwardedRequest> request) = 0;
  /// Any thread.
  [[nodiscard]] virtual const ForwardCounters& counters() const noexcept = 0;

 protected:
  ~RequestForwarder() = default;
};

}  // namespace mxkv::server
