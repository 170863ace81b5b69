// The seam between a shard and the engine that replicates its log: one totally ordered log, of one partition.
//
// The engine keeps what it said it stored, in one order for all readers: consensus, copies and storage are its. What
// is decided by that order (who owns the shard, what counts) is decided in shard_state.hpp, by every reader alike.
//
// Positions grow by one from message to message. An append whose answer is lost is *unknown*: it may be there, it may
// come later, or never.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mxkv::server {

using LogPosition = std::uint64_t;

enum class append_outcome : std::uint8_t {
  stored,   ///< at its position, for good
  refused,  ///< it is not there, and will never be
  unknown,  ///< it may be there, now or later
};

struct Appended {
  append_outcome outcome = append_outcome::unknown;
  LogPosition position = 0;  ///< of what was stored
};

/// Takes what is read. Thread-safety: called on the log's thread.
class LogSink {
 public:
  virtual ~LogSink() = default;
  /// `bytes` are there during the call. read() and stop() may be called from here; what was read before goes nowhere
  /// then.
  virtual void message(LogPosition position, std::string_view bytes) = 0;
  /// The log begins behind where it was to be read from: what lies between is lost to this reader. Nothing more comes.
  virtual void begins_later() = 0;
};

/// Thread-safety: one thread, on which also the answers come.
class OrderedLog {
 public:
  using AppendDone = std::function<void(Appended)>;
  /// Nothing: the engine did not say.
  using EndDone = std::function<void(std::optional<LogPosition> end)>;

  virtual ~OrderedLog() = default;

  /// Puts it behind what was appended before. Several may be under way: where all are stored at the first try they are
  /// so in this order. `done` is called once, and not before this returns.
  virtual void append(std::string bytes, AppendDone done) = 0;
  /// All messages from `from` on go to `sink`, also those that come later, until stop() or another read().
  virtual void read(LogPosition from, LogSink& sink) = 0;
  virtual void stop() = 0;
  /// Asks how far the log goes: what anybody was told is stored, before it was asked, is before the answer. `done` is
  /// called once, and not before this returns.
  virtual void end(EndDone done) = 0;
  /// What stands before `before` is needed no more. It goes when the engine gets to it, or not.
  virtual void trim(LogPosition before) = 0;
};

/// What keeps logs, and the thread's door to it: answers come, and what is read, while poll() runs. Thread-safety: one
/// thread, but for wake().
class LogEngine {
 public:
  virtual ~LogEngine() = default;
  /// One partition. At most one log for each at a time; it goes before the engine.
  [[nodiscard]] virtual std::unique_ptr<OrderedLog> open(const std::string& topic,
                                                         std::int32_t partition) = 0;
  /// Waits up to `wait_ms` for something to come.
  virtual void poll(int wait_ms) = 0;
  /// Whether nothing of what is read comes for now. Answers do.
  virtual void hold_reads(bool holds) = 0;
  /// poll() waits no longer. Thread-safety: any thread.
  virtual void wake() noexcept = 0;
  /// The engine's last error, in words; empty: there was none.
  [[nodiscard]] virtual std::string last_error() const = 0;
};

}  // namespace mxkv::server
