#include "runtime/scheduler/places.hpp"

#include <string>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {
namespace {

// "0, 2" for places 0 and 2 having workers.
std::string inhabited(const std::vector<std::vector<WorkerId>>& places) {
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i].empty()) {
      text += (text.empty() ? "" : ", ") + std::to_string(i);
    }
  }
  return text.empty() ? "none" : text;
}

Error uninhabited(const char* what, std::size_t id, const std::vector<std::vector<WorkerId>>& places) {
  return Error{std::string{what} + " " + std::to_string(id) +
               (id < places.size() ? " has no worker" : " does not exist") +
               " (with workers: " + inhabited(places) + ")"};
}

Error beyond(const char* what, std::size_t id, std::size_t count) {
  return Error{std::string{what} + " " + std::to_string(id) + " does not exist (there are " +
               std::to_string(count) + ")"};
}

}  // namespace

Places::Places(const Topology& topology, std::span<const WorkerPlacement> workers, std::size_t pools)
    : worker_count_(workers.size()),
      pool_count_(pools),
      groups_(topology.core_groups.size()),
      nodes_(topology.nodes.size()) {
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const WorkerId worker{static_cast<WorkerId::rep>(i)};
    if (workers[i].node.index() < nodes_.size()) {
      nodes_[workers[i].node.index()].push_back(worker);
    }
    const ProcessingUnit* unit = topology.find(workers[i].pu);
    if (unit != nullptr && unit->group.index() < groups_.size()) {
      groups_[unit->group.index()].push_back(worker);
    }
  }
}

bool Places::exists(Target target) const noexcept {
  switch (target.kind()) {
    case target_kind::worker:
      return target.id() < worker_count_;
    case target_kind::pool:
      return target.id() < pool_count_;
    case target_kind::core_group:
    case target_kind::node:
      return !workers(target).empty();
    case target_kind::anywhere:
      break;
  }
  return true;
}

Error Places::complaint(Target target) const {
  MXKV_ASSERT(!exists(target), "there is something to complain about");
  switch (target.kind()) {
    case target_kind::worker:
      return beyond("worker", target.id(), worker_count_);
    case target_kind::pool:
      return beyond("pool", target.id(), pool_count_);
    case target_kind::core_group:
      return uninhabited("core group", target.id(), groups_);
    case target_kind::node:
      return uninhabited("NUMA node", target.id(), nodes_);
    case target_kind::anywhere:
      break;
  }
  return Error{"anywhere"};
}

std::span<const WorkerId> Places::workers(Target target) const noexcept {
  const std::vector<std::vector<WorkerId>>& places =
      target.kind() == target_kind::core_group ? groups_ : nodes_;
  const bool several = target.kind() == target_kind::core_group || target.kind() == target_kind::node;
  return several && target.id() < places.size() ? std::span{places[target.id()]}
                                                : std::span<const WorkerId>{};
}

}  // namespace mxkv::runtime
