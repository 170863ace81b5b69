// The data that all nodes of a cluster read and write: names with values. The last value of a name counts,
// and all nodes see the same order. The board holds the map of shards, and each node's word about itself.
//
// This is the interface to the engine, as ordered_log.hpp is for shards. A reader gets values in the order
// that all readers see. Of a name that was put up several times it may get only the last value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mxkv::server {

/// Thread-safety: the thread that polls the board calls it.
class BoardSink {
 public:
  virtual ~BoardSink() = default;
  /// No value: the name was taken down. The views are valid during the call only.
  virtual void put_up(std::uint64_t position, std::string_view key,
                      std::optional<std::string_view> value) = 0;
  /// All values that the board had when reading began have been handed out. Called once.
  virtual void caught_up() = 0;
};

/// Thread-safety: one thread, but for wake().
class Board {
 public:
  /// false: the value is not stored, or its fate is unknown; then reading the board shows it.
  using Done = std::function<void(bool stored)>;

  virtual ~Board() = default;
  /// `done` is not called before this returns; may be empty.
  virtual void put(const std::string& key, std::string value, Done done) = 0;
  /// Takes the name down.
  virtual void remove(const std::string& key, Done done) = 0;
  /// Calls back with answers, and hands out values read; waits up to `wait_ms` for something to arrive.
  virtual void poll(int wait_ms) = 0;
  /// Ends the wait of poll(). Thread-safety: any thread.
  virtual void wake() noexcept = 0;
  /// The engine's last error, in words; empty: no error so far.
  [[nodiscard]] virtual std::string last_error() const = 0;
};

}  // namespace mxkv::server
