// The items of a shard, for a snapshot: a RangeSnapshot that may be given up at any time; its scan then ends
// by itself.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "server/cluster/range_snapshot.hpp"
#include "server/cluster/shard_snapshot.hpp"

namespace mxkv::server {

/// Abandoned scans, until they have ended. Thread-safety: the cluster's thread.
class EndingScans {
 public:
  void add(std::unique_ptr<RangeSnapshot> scan) {
    if (!scan->stop()) {
      scans_.push_back(std::move(scan));
    }
  }
  /// Call it from time to time.
  void look() {
    std::erase_if(scans_, [](const std::unique_ptr<RangeSnapshot>& scan) { return scan->stop(); });
  }
  /// No worker runs any more. The workers' tasks hold what they have begun, so drop this object after those
  /// tasks.
  void drop(runtime::Worker& worker) noexcept {
    for (const std::unique_ptr<RangeSnapshot>& scan : scans_) {
      scan->drop(worker);
    }
    look();
  }

 private:
  std::list<std::unique_ptr<RangeSnapshot>> scans_;
};

/// Thread-safety: the cluster's thread.
class StoreItems final : public SnapshotSource {
 public:
  /// The items of [from, to), from now on; `to` empty: to the end. `ending` outlives it.
  StoreItems(Store& store, std::string_view from, std::string_view to, EndingScans& ending)
      : scan_(std::make_unique<RangeSnapshot>(store, from, to)), ending_(ending) {
    scan_->start();
  }
  ~StoreItems() override { ending_.add(std::move(scan_)); }
  StoreItems(const StoreItems&) = delete;
  StoreItems& operator=(const StoreItems&) = delete;

  [[nodiscard]] state next(std::string& piece, std::uint64_t& items) override {
    const std::uint64_t before = scan_->items();
    const RangeSnapshot::state found = scan_->poll(piece);
    items += scan_->items() - before;
    switch (found) {
      case RangeSnapshot::state::working:
        return state::busy;
      case RangeSnapshot::state::chunk:
        return state::piece;
      case RangeSnapshot::state::end:
        return state::end;
      case RangeSnapshot::state::failed:
        break;
    }
    return state::failed;
  }

 private:
  std::unique_ptr<RangeSnapshot> scan_;
  EndingScans& ending_;
};

}  // namespace mxkv::server
