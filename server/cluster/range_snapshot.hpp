// A copy of a range of the live store, for a replica that begins: the puts of its items as bodies that
// ShardMemory::apply() takes, in key order, while workers go on writing.
//
// It is of no one moment. With all that a log got since before start() applied behind it, it is what the store holds.
// And it may hold what the log has not acknowledged: it counts once all is acknowledged that was recorded when its
// last chunk came, and where the owner is ousted meanwhile it never does.
//
// Expired items are in it: what the log says next may touch them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/durability/checkpoint_scan.hpp"

namespace mxkv::server {

/// One buffer is filled while the caller has the chunk before: who does not poll takes no more memory.
/// Thread-safety: one thread, which is no worker's.
class RangeSnapshot {
 public:
  enum class state : std::uint8_t {
    working,  ///< there is no chunk yet
    chunk,    ///< one was taken
    end,      ///< there was none left
    failed,   ///< the workers have ended
  };

  /// Of the keys in [from, to); `to` empty: to the end.
  RangeSnapshot(Store& store, std::string_view from, std::string_view to)
      : store_(store), scan_(store, bell_, from, to, record_times::wall) {}
  RangeSnapshot(const RangeSnapshot&) = delete;
  RangeSnapshot& operator=(const RangeSnapshot&) = delete;
  /// It has ended, or stop() said so.
  ~RangeSnapshot();

  void start();
  /// Puts the next chunk into `body`, whatever that held.
  [[nodiscard]] state poll(std::string& body);
  /// Until poll() may say something else, or `ns` have passed.
  void wait(std::uint64_t ns) { bell_.wait(ns); }
  /// To be called until it says true: nothing of it is under way any more.
  [[nodiscard]] bool stop();
  /// The same at once, when no worker runs any more.
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
