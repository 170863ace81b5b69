// What all nodes of a cluster read and write: names with values, of which the last one counts, in one order for all. The
// map of shards is there, and what each node says of itself.
//
// The seam to the engine, as ordered_log.hpp is for shards. What a reader is handed comes in the order that all readers
// see; of names that were put up again since, only the last may come.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mxkv::server {

/// Thread-safety: called by whoever polls the board.
class BoardSink {
 public:
  virtual ~BoardSink() = default;
  /// Nothing for a value: the name was taken down. Views are gone after the call.
  virtual void put_up(std::uint64_t position, std::string_view key,
                      std::optional<std::string_view> value) = 0;
  /// All that was there when reading began has been handed out. Once.
  virtual void caught_up() = 0;
};

/// Thread-safety: one thread, but for wake().
class Board {
 public:
  /// false: it is not there, or nobody knows; then what is read tells.
  using Done = std::function<void(bool stored)>;

  virtual ~Board() = default;
  /// `done` is not called before this returns; may be empty.
  virtual void put(const std::string& key, std::string value, Done done) = 0;
  /// Takes it down.
  virtual void remove(const std::string& key, Done done) = 0;
  /// Answers, and hands out what was read; waits up to `wait_ms` for something to come.
  virtual void poll(int wait_ms) = 0;
  /// poll() waits no longer. Thread-safety: any thread.
  virtual void wake() noexcept = 0;
  /// The engine's last error, in words; empty: there was none.
  [[nodiscard]] virtual std::string last_error() const = 0;
};

}  // namespace mxkv::server
