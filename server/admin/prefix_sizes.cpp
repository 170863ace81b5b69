#include "server/admin/prefix_sizes.hpp"

#include <utility>

#include "index/sample_task.hpp"
#include "index/scan_task.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

using runtime::step;

namespace {

/// Draws leaves by random walks.
class PrefixWalkTask final : public index::SampleTask<PrefixWalkTask, ItemTraits> {
 public:
  static constexpr const char* kName = "prefix sizes by walks";

  PrefixWalkTask(const runtime::TaskClass* task_class, PrefixSizes& sizes) noexcept
      : SampleTask(task_class, sizes.store().tree(), sizes.seed()), sizes_(&sizes) {
    annotate(runtime::priority::low);
  }

  // --- For SampleTask ---
  [[nodiscard]] std::string_view key() const noexcept { return sizes_->query().prefix; }
  [[nodiscard]] bool ends_before(std::string_view key) const noexcept { return sizes_->beyond(key); }
  bool walked(const index::Entries& leaf, double weight, bool whole, runtime::Worker& worker) {
    for (unsigned i = 0; i < leaf.count; ++i) {
      runtime::prefetch_lines(ItemRecord::address(leaf.values[i]), 2);
    }
    if (whole) {
      sizes_->forget();  // the range has shrunk to one leaf meanwhile
      walks_ = 0;
    }
    const Liveness live{worker};
    for (unsigned i = 0; i < leaf.count; ++i) {
      const Item::View item{*ItemRecord::item(leaf.values[i])};
      if (item.key() >= key() && !sizes_->beyond(item.key()) && live(item)) {
        sizes_->add(item, weight);
      }
    }
    return ++walks_ < PrefixSizes::kWalks && !whole;
  }
  step finished(runtime::Worker& worker) {
    worker.unpin(*this);
    std::exchange(sizes_, nullptr)->ended(walks_);
    return step::done;
  }
  void discard(runtime::Worker& /*worker*/) {
    if (sizes_ != nullptr) {
      std::exchange(sizes_, nullptr)->lost();
    }
  }

 private:
  PrefixSizes* sizes_;
  unsigned walks_ = 0;
};

/// Reads all items, unless it finds too many leaves.
class PrefixScanTask final : public index::ScanTask<PrefixScanTask, ItemTraits> {
 public:
  static constexpr const char* kName = "prefix sizes";

  PrefixScanTask(const runtime::TaskClass* task_class, PrefixSizes& sizes) noexcept
      : ScanTask(task_class, sizes.store().tree()), sizes_(&sizes) {
    key_.set(sizes.query().prefix);
    annotate(runtime::priority::low);
  }

  // --- For ScanTask ---
  struct LeafVisitor {
    PrefixScanTask& task;
    Liveness live;
    bool visit(std::uint64_t /*head*/, std::uint64_t value) { return task.visit(value, live); }
  };
  [[nodiscard]] std::string_view key() const noexcept { return key_.view(); }
  void set_key(std::string_view key) noexcept { key_.set(key); }
  [[nodiscard]] static bool backward() noexcept { return false; }
  [[nodiscard]] LeafVisitor leaf_visitor(runtime::Worker& worker) noexcept {
    ++leaves_;
    return {*this, Liveness{worker}};
  }
  step finished(bool exhausted, runtime::Worker& worker) {
    worker.unpin(*this);
    PrefixSizes& sizes = *std::exchange(sizes_, nullptr);
    if (exhausted || leaves_ <= PrefixSizes::kLeavesRead) {
      sizes.ended(0);
    } else {
      sizes.forget();
      worker.create<PrefixWalkTask>(sizes)->start(worker);
    }
    return step::done;
  }
  void discard(runtime::Worker& /*worker*/) {
    if (sizes_ != nullptr) {
      std::exchange(sizes_, nullptr)->lost();
    }
  }

 private:
  bool visit(std::uint64_t value, const Liveness& live) {
    const Item::View item{*ItemRecord::item(value)};
    if (sizes_->beyond(item.key()) || leaves_ > PrefixSizes::kLeavesRead) {
      return false;
    }
    if (live(item)) {
      sizes_->add(item, 1);
    }
    return true;
  }

  PrefixSizes* sizes_;
  HeldKey key_;
  unsigned leaves_ = 0;
};

static_assert(sizeof(PrefixScanTask) <= runtime::kLargestTaskBytes);
static_assert(sizeof(PrefixWalkTask) <= runtime::kLargestTaskBytes);

/// Submitted by the asker's thread.
class BeginPrefixesTask final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "prefix sizes begin";

  BeginPrefixesTask(const runtime::TaskClass* task_class, PrefixSizes& sizes) noexcept
      : MxTask(task_class), sizes_(sizes) {}
  step execute(runtime::Worker& worker) {
    worker.create<PrefixScanTask>(sizes_)->start(worker);
    return step::done;
  }
  void discard(runtime::Worker& /*worker*/) { sizes_.lost(); }

 private:
  PrefixSizes& sizes_;
};

}  // namespace

void PrefixSizes::start(Store& store, Query query, std::uint64_t seed) {
  MXKV_ASSERT(now() != state::running, "one count at a time");
  MXKV_ASSERT(query.prefix.size() <= index::kMaxKeyBytes && !query.delimiter.empty(),
              "the query was checked");
  store_ = &store;
  query_ = std::move(query);
  seed_ = seed;
  found_ = {};
  state_.store(state::running, std::memory_order_relaxed);  // submit() hands it over
  runtime::Runtime& runtime = store.tree().runtime();
  const auto worker = static_cast<std::uint16_t>(seed % runtime.worker_count());
  (void)runtime.submit(runtime.create_outside<BeginPrefixesTask>(*this), runtime::WorkerId{worker});
}

void PrefixSizes::add(const Item::View& item, double weight) {
  const std::string_view key = item.key();
  const std::size_t at = key.find(query_.delimiter, query_.prefix.size());
  Group* group = &found_.single;
  if (at != std::string_view::npos) {
    const std::string_view name = key.substr(0, at + query_.delimiter.size());
    const auto known = found_.groups.find(name);
    if (known != found_.groups.end()) {
      group = &known->second;
    } else {
      group = found_.groups.size() < kMostGroups ? &found_.groups[std::string{name}] : &found_.rest;
    }
  }
  group->items += weight;
  group->bytes += weight * static_cast<double>(key.size() + item.value_bytes());
  group->drawn += 1;
}

void PrefixSizes::ended(double walks) {
  found_.exact = walks <= 1;
  const auto scale = [walks](Group& group) {
    if (walks > 1) {
      group.items /= walks;
      group.bytes /= walks;
    }
  };
  for (auto& [name, group] : found_.groups) {
    scale(group);
  }
  scale(found_.single);
  scale(found_.rest);
  state_.store(state::done, std::memory_order_release);
}

}  // namespace mxkv::server
