// The interface between a shard and the engine that replicates its log: one totally ordered log, of one
// partition.
//
// The engine keeps every message that it reported as stored, in one order for all readers: it is responsible
// for consensus, copies and storage. That order decides who owns the shard and which messages count; every
// reader derives this in the same way, by shard_state.hpp.
//
// Positions grow by one from message to message. An append without an answer is *unknown*: the message may be
// stored, may be stored later, or never.
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
  stored,   ///< stored at its position, for good
  refused,  ///< not stored, and never will be
  unknown,  ///< maybe stored, now or later
};

struct Appended {
  append_outcome outcome = append_outcome::unknown;
  LogPosition position = 0;  ///< of the stored message
};

/// Receives the messages of a read. Thread-safety: called on the log's thread.
class LogSink {
 public:
  virtual ~LogSink() = default;
  /// `bytes` are valid during the call. The function may call read() and stop(); then the sink gets no
  /// further messages of the former read.
  virtual void message(LogPosition position, std::string_view bytes) = 0;
  /// The log begins behind the position where reading was to begin: the messages between are lost to this
  /// reader. The read ends.
  virtual void begins_later() = 0;
};

/// Thread-safety: one thread, which also gets the answers.
class OrderedLog {
 public:
  using AppendDone = std::function<void(Appended)>;
  /// Nothing: the engine did not answer.
  using EndDone = std::function<void(std::optional<LogPosition> end)>;

  virtual ~OrderedLog() = default;

  /// Appends a message behind the earlier ones. Several appends may be under way: if all are stored at the
  /// first attempt, they keep this order. `done` is called once, and not before this returns.
  virtual void append(std::string bytes, AppendDone done) = 0;
  /// Gives all messages from `from` on to `sink`, also later ones, until stop() or another read().
  virtual void read(LogPosition from, LogSink& sink) = 0;
  virtual void stop() = 0;
  /// Asks for the log's end: all messages that were reported as stored before the question are before that
  /// end. `done` is called once, and not before this returns.
  virtual void end(EndDone done) = 0;
  /// The messages before `before` are not needed any more. The engine deletes them at some time, or not at
  /// all.
  virtual void trim(LogPosition before) = 0;
};

/// The engine of many logs. Answers, and messages of reads, arrive during poll(). Thread-safety: one thread,
/// except wake().
class LogEngine {
 public:
  virtual ~LogEngine() = default;
  /// Opens one partition, which may have one log at a time. The log must not outlive the engine.
  [[nodiscard]] virtual std::unique_ptr<OrderedLog> open(const std::string& topic,
                                                         std::int32_t partition) = 0;
  /// Waits up to `wait_ms` for an event.
  virtual void poll(int wait_ms) = 0;
  /// While true, reads deliver no messages. Answers still arrive.
  virtual void hold_reads(bool holds) = 0;
  /// Ends the wait of poll(). Thread-safety: any thread.
  virtual void wake() noexcept = 0;
  /// The engine's last error, in words; empty: none so far.
  [[nodiscard]] virtual std::string last_error() const = 0;
};

}  // namespace mxkv::server
