// A copy of a range of the live store, for a new replica: the puts of its items as bodies for
// ShardMemory::apply(), in key order, while workers go on writing.
//
// The copy is not of one moment. With all log messages since before start() applied to it, it equals the
// store. It may hold unacknowledged changes: it counts once all changes recorded before its last chunk
// arrived are acknowledged. If the owner is ousted before that, it never counts.
//
// It includes expired items, because the log's next messages may touch them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/durability/checkpoint_scan.hpp"

namespace mxkv::server {

/// While the caller has one chunk, the next one fills one buffer: a caller that does not poll takes no more
/// memory. Thread-safety: one thread, not a worker.
class RangeSnapshot {
 public:
  enum class state : std::uint8_t {
    working,  ///< no chunk is ready
    chunk,    ///< one was taken
    end,      ///< there is no further chunk
    failed,   ///< the workers have ended
  };

  /// Copies the keys in [from, to); `to` empty: to the end.
  RangeSnapshot(Store& store, std::string_view from, std::string_view to)
      : store_(store), scan_(store, bell_, from, to, record_times::wall) {}
  RangeSnapshot(const RangeSnapshot&) = delete;
  RangeSnapshot& operator=(const RangeSnapshot&) = delete;
  /// The copy must have ended, or stop() must have returned true.
  ~RangeSnapshot();

  void start();
  /// Replaces `body` by the next chunk.
  [[nodiscard]] state poll(std::string& body);
  /// Waits until poll() may return something else, or `ns` have passed.
  void wait(std::uint64_t ns) { bell_.wait(ns); }
  /// Call it until it returns true: then no task of the copy runs any more.
  [[nodiscard]] bool stop();
  /// Stops at once, when no worker runs any more.
  void drop(runtime::Worker& worker) noexcept { scan_.drop(worker); }

  [[nodiscard]] std::uint64_t items() const noexcept { return items_; }

 private:
  [[nodiscard]] runtime::WorkerId some_worker() noexcept;
  void take(std::string& body);

  Store& store_;
  CheckpointBell bell_;
  PartScan scan_;
  runtime::RequestId request_{0};
  std::uint32_t next_worker_ = 0;
  bool ended_ = false;
  std::uint64_t items_ = 0;
};

}  // namespace mxkv::server
