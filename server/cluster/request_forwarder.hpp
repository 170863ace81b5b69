// Requests that another node has to answer: what is known of one, and who brings it there. The seam between the
// cluster's store, which decides, and the sockets.
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

/// One request on its way. Its reply goes to the client as it comes.
struct ForwardedRequest {
  std::string text;         ///< as it is sent: the line, and the value behind it
  std::uint32_t shard = 0;  ///< who owns it answers
  ReplyAddress address{};   ///< of the client; unused where `then` is set
  CommitSeq seq = 0;        ///< of a write
  bool writes = false;      ///< it holds `seq`, and ends as a write
  bool changes = false;     ///< it may have changed something once it was sent: never sent a second time then
  bool end_line = true;     ///< false: others of its line follow, so that the END of its reply is left out
  reply_shape shape = reply_shape::one;
  protocol::BinaryForm binary{};  ///< given: the client speaks the binary protocol, and gets a packet
  std::string key{};              ///< where that one tells it
  std::function<void(std::string_view reply)> then{};  ///< in place of a client: told the reply, once

  // Its way, for who forwards it.
  std::uint64_t give_up_ns = 0;  ///< by the monotonic clock; 0: it was not held yet
  std::uint32_t sent_to = 0;     ///< the peer that has it
  std::uint64_t number = 0;      ///< of all that its forwarder was given

  // Its place among the writes of its client, for the part that orders them.
  std::uint64_t key_of_client = 0;  ///< the same for all writes of one client to one key
  CommitSeq after = 0;  ///< those of its client up to here that take effect on this node are to end first
  bool goes = false;    ///< nothing holds it back any more
};

/// What a forwarder did, ever. One writer; read by any thread, relaxed.
struct ForwardCounters {
  std::atomic<std::uint64_t> requests{0};   ///< that it was given
  std::atomic<std::uint64_t> again{0};      ///< times that one was sent once more, or to another node
  std::atomic<std::uint64_t> held{0};       ///< requests that had to wait for an owner
  std::atomic<std::uint64_t> no_owner{0};   ///< of these, those that none was found for in time
  std::atomic<std::uint64_t> lost{0};       ///< writes of which nobody knows what became
  std::atomic<std::uint64_t> no_memory{0};  ///< refused, since too much was on its way
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> connects{0};  ///< connections to peers that were begun

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

/// One a worker. Thread-safety: owner worker only.
class RequestForwarder {
 public:
  RequestForwarder() = default;
  RequestForwarder(const RequestForwarder&) = delete;
  RequestForwarder& operator=(const RequestForwarder&) = delete;

  /// An empty one, maybe one that was used before: its text has room.
  [[nodiscard]] virtual std::unique_ptr<ForwardedRequest> take() = 0;
  /// Brings it to the shard's owner, and ends its operation, not before this returns.
  virtual void forward(std::unique_ptr<ForwardedRequest> request) = 0;
  /// Any thread.
  [[nodiscard]] virtual const ForwardCounters& counters() const noexcept = 0;

 protected:
  ~RequestForwarder() = default;
};

}  // namespace mxkv::server
