#include "server/store/locks/repartition_task.hpp"

#include <algorithm>

#include "server/store/core/worker_context.hpp"

namespace mxkv::server {

using runtime::step;

std::unique_ptr<KeyPartition::Map> SlotSamples::draw(std::uint32_t most) {
  std::sort(samples_.begin(), samples_.end());
  double all = 0;
  for (const auto& [key, weight] : samples_) {
    all += weight;
  }
  std::vector<std::string> separators;
  double before = 0;
  for (const auto& [key, weight] : samples_) {
    const double part = all * static_cast<double>(separators.size() + 1) / most;
    if (before >= part && separators.size() + 1 < most && (separators.empty() || separators.back() < key)) {
      separators.push_back(key);
    }
    before += weight;
  }
  MXKV_ASSERT(separators.size() < most, "a map has one slot more than separators");
  return std::make_unique<KeyPartition::Map>(std::move(separators));
}

bool RepartitionTask::walked(const index::Entries& leaf, double weight, bool whole,
                             runtime::Worker& /*worker*/) {
  ++walks_;
  if (whole) {
    for (unsigned i = 0; i < leaf.count; ++i) {
      samples_->add(ItemRecord::key(leaf.values[i]), 1);
    }
    return false;
  }
  if (leaf.count > 0) {
    // One key of the leaf, not always the first, so that many walks over few leaves see all of their keys.
    const unsigned at = static_cast<unsigned>(walks_ * 7) % leaf.count;
    samples_->add(ItemRecord::key(leaf.values[at]), weight * leaf.count);
  }
  return walks_ < kWalksPerSlot * locks_->slots.most();
}

step RepartitionTask::finished(runtime::Worker& worker) {
  MXKV_ASSERT(samples_ != nullptr, "a map is drawn of samples");
  leave_tree(*this);
  worker.unpin(*this);
  RangeLock::create(worker, *locks_, *this, worker.id())->start(worker);
  return step::parked;
}

void RepartitionTask::begin(RangeLock& lock, runtime::Worker& worker) {
  MXKV_ASSERT(samples_ != nullptr && drawing_->load(std::memory_order_relaxed), "one map is drawn at a time");
  locks_->slots.replace(samples_->draw(locks_->slots.most()), items_, worker);
  worker.local<WorkerContext>().counters.count(counter::slot_maps);
  locks_->toggle.map_changed();
  lock.release(worker);
  worker.spawn(this);
}

step RepartitionTask::resume_item(runtime::Worker& worker) {
  discard(worker);
  return step::done;
}

void RepartitionTask::discard(runtime::Worker& /*worker*/) {
  MXKV_ASSERT(drawing_->load(std::memory_order_relaxed), "drawing is handed on once");
  delete std::exchange(samples_, nullptr);
  drawing_->store(false, std::memory_order_release);
}

}  // namespace mxkv::server
