#include "server/feed/memory_ring.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

void MemoryRing::begin(std::uint64_t epoch) noexcept {
  while (!epochs_.empty()) {
    drop_oldest();
  }
  complete_behind_ = epoch;
}

void MemoryRing::drop_oldest() noexcept {
  const RingEpoch& oldest = epochs_.front();
  bytes_ -= oldest.own_bytes();
  if (budget_ != nullptr) {
    budget_->refund(runtime::memory_category::buffers, oldest.own_bytes());
  }
  complete_behind_ = oldest.number;
  epochs_.pop_front();
}

void MemoryRing::add(RingEpoch&& epoch) {
  MXKV_ASSERT(epoch.number > complete_behind_ && (epochs_.empty() || epoch.number > epochs_.back().number),
              "epochs come in their order");
  bytes_ += epoch.own_bytes();
  if (budget_ != nullptr) {
    budget_->charge_unconditionally(runtime::memory_category::buffers, epoch.own_bytes());
  }
  epochs_.push_back(std::move(epoch));
  while (bytes_ > most_bytes() && epochs_.size() > 1) {
    drop_oldest();
  }
}

const RingEpoch* MemoryRing::behind(std::uint64_t number) const noexcept {
  const auto found = std::ranges::upper_bound(epochs_, number, {}, &RingEpoch::number);
  return found == epochs_.end() ? nullptr : &*found;
}

}  // namespace mxkv::server
