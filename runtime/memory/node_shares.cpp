#include "runtime/memory/node_shares.hpp"

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

NumaNodeId NodeShares::charge(NumaNodeId wanted, std::size_t bytes) noexcept {
  MXKV_ASSERT(wanted.index() < shares_.size(), "each node has a share, if only of nothing");
  std::size_t node = wanted.index();
  // A node that was full a moment ago stays full, so each round leaves one out at least.
  for (std::size_t tries = 0; tries <= shares_.size(); ++tries) {
    if (try_charge(node, bytes)) {
      return NumaNodeId{static_cast<NumaNodeId::rep>(node)};
    }
    for (std::size_t other = 0; other < shares_.size(); ++other) {
      node = room(other) > room(node) ? other : node;
    }
  }
  taken_[wanted.index()].fetch_add(bytes, std::memory_order_relaxed);
  return wanted;
}

bool NodeShares::try_charge(std::size_t node, std::size_t bytes) noexcept {
  std::size_t taken = taken_[node].load(std::memory_order_relaxed);
  do {
    if (taken > shares_[node] || bytes > shares_[node] - taken) {
      return false;
    }
  } while (!taken_[node].compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  return true;
}

std::size_t NodeShares::room(std::size_t node) const noexcept {
  const std::size_t taken = taken_[node].load(std::memory_order_relaxed);
  return taken < shares_[node] ? shares_[node] - taken : 0;
}

}  // namespace mxkv::runtime
