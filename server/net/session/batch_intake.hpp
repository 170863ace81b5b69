// The batch whose lines a session is receiving.
//
// A bad line of a batch is consumed with its block and counted, so that the stream stays in step. The batch
// is answered after its last line. Only a block of unknown length hides where the next line begins. That ends
// the batch and the connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "protocol/parser.hpp"
#include "server/net/session/session_core.hpp"
#include "server/store/session_store.hpp"

namespace mxkv::server {

class ValueIntake;

/// Thread-safety: owner worker only.
class BatchIntake {
 public:
  /// Whether a batch is being received.
  [[nodiscard]] bool open() const noexcept { return batch_ != nullptr; }
  /// Lines that have not come yet; only while it is open.
  [[nodiscard]] std::uint32_t missing() const noexcept { return batch_->missing(); }
  /// Bytes that it holds of the worker's share of input.
  [[nodiscard]] std::size_t kept() const noexcept { return kept_; }

  void begin(SessionCore& core, std::uint32_t lines);
  /// Takes the next line, which core.host->request has unless it was wrong. Returns the number of bytes used;
  /// 0: its value has to wait.
  std::size_t take(SessionCore& core, ValueIntake& values, const protocol::Parsed& parsed);
  /// The line's value was received whole.
  void add(SessionCore& core, ItemBuilder& value);
  /// The line's value is not stored.
  void fail(SessionCore& core, std::string_view error);
  /// All lines have come: runs or refuses the batch, which may have any keys, so it is a barrier. False: it has
  /// to wait.
  [[nodiscard]] bool started(SessionCore& core);
  /// Gives up the batch, if there is one.
  void drop(SessionCore& core) noexcept;

 private:
  [[nodiscard]] std::string_view flaw_of(SessionCore& core, const protocol::Parsed& parsed,
                                         const protocol::Request& request) const;
  void refuse(SessionCore& core);
  void keep(SessionCore& core, std::size_t bytes) noexcept;
  void keep_no_more(SessionCore& core) noexcept;

  std::unique_ptr<ReceivedBatch> batch_;  ///< null: no batch is being received
  std::uint32_t lines_ = 0;               ///< lines received so far
  std::uint64_t bytes_ = 0;               ///< of the values in these lines
  std::size_t kept_ = 0;
};

}  // namespace mxkv::server
