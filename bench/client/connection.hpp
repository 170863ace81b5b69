// One connection of the load client: a pipeline of `depth` requests that is kept full.
//
// A turn reads once, checks every complete reply, refills the pipeline once enough of it is free, and writes
// once. Refilling at every reply instead ends in one request a packet: against memcached at depth 64 that
// costs the client 5.7 us a request, refilling when all replies are in 0.2 us. The clock is read once a turn:
// a latency runs from the turn that sent the request to the turn that read its reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/client/byte_queue.hpp"
#include "bench/client/pacer.hpp"
#include "bench/client/socket.hpp"
#include "bench/client/tally.hpp"
#include "bench/client/wire.hpp"
#include "bench/workload/operations.hpp"

namespace mxkv::bench {

/// The source of a connection's operations, and the recorder of their ends.
struct ConnectionContext {
  const Wire& wire;
  OperationSource& source;
  SharedWorkload& workload;
  Tally& tally;
  Pacer& pacer;
};

/// Thread-safety: owner only.
class Connection {
 public:
  /// `depth`: requests in flight, at least 1. `refill`: how many of them must be answered before new ones are
  /// made, 1 to depth.
  Connection(Socket socket, std::size_t depth, std::size_t refill);

  enum class Status {
    waiting,  ///< replies are outstanding
    idle,     ///< no replies are outstanding, and no requests are left to send
    broken,   ///< closed by the server or out of step; outstanding requests are counted as errors
  };
  /// Fills the pipeline for the first time.
  Status start(const ConnectionContext& context, std::uint64_t now_ns);
  /// The socket can be read or written. `sending`: whether new requests may be made.
  Status turn(const ConnectionContext& context, std::uint64_t now_ns, bool sending);
  /// Paced runs: puts the due operation into the pipeline, to be sent by turn() or flush(). Returns false if
  /// the pipeline is full or no operation is left.
  bool offer(const ConnectionContext& context, std::uint64_t now_ns);
  /// Sends the waiting bytes. Returns false if the connection is broken.
  bool flush();
  /// Counts the outstanding requests as errors.
  void abandon(const ConnectionContext& context, std::uint64_t now_ns);

  /// Whether bytes are waiting for the socket to take more.
  [[nodiscard]] bool wants_write() const noexcept { return !out_.empty(); }
  [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
  /// The first line that refused a request or was malformed; empty if there was none.
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }
  /// The first reply that had wrong records, and the first record that was missing: operation, key and reason; empty
  /// if there was none.
  [[nodiscard]] const std::string& first_wrong() const noexcept { return first_wrong_; }
  [[nodiscard]] const std::string& first_missing() const noexcept { return first_missing_; }
  [[nodiscard]] std::size_t outstanding() const noexcept { return count_; }

 private:
  bool read_replies(const ConnectionContext& context, std::uint64_t now_ns);
  void note_refusal(std::string_view reply);
  void note_failure(const ConnectionContext& context, const Operation& operation, Outcome outcome);
  bool parse_replies(const ConnectionContext& context, std::uint64_t now_ns);
  void fill(const ConnectionContext& context, std::uint64_t now_ns);
  [[nodiscard]] static bool may_retry(const ConnectionContext& context, const Operation& operation,
                                      Outcome outcome);
  /// Notes how a trace's request ended; with `sending`, a get that missed may be followed by a set.
  void finish_of_trace(const ConnectionContext& context, Operation& operation, Outcome outcome,
                       std::uint64_t now_ns, bool sending);
  /// Writes the request and waits for its reply behind all others.
  void push(const ConnectionContext& context, const Operation& operation);
  [[nodiscard]] Status status() const noexcept { return count_ != 0 ? Status::waiting : Status::idle; }
  /// Takes the oldest request off the pipeline and counts it; with `sending`, sends the request that follows
  /// from it.
  void finish_front(const ConnectionContext& context, Outcome outcome, std::uint64_t now_ns, bool sending);

  Socket socket_;
  ByteQueue in_;
  ByteQueue out_;
  ReplyState reply_;
  std::string refusal_;
  std::string first_wrong_;
  std::string first_missing_;
  std::vector<Operation> ring_;  // the requests in flight, oldest at head_
  std::size_t refill_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
  std::uint64_t pause_ns_ = 0;  // to sleep before the next send, which retries a refused insert
};

}  // namespace mxkv::bench
