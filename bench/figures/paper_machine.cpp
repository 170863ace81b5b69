#include "bench/figures/paper_machine.hpp"

#include <algorithm>

namespace mxkv::bench {

// A bus of 1066 MHz has 8.5 bytes a nanosecond; both end at one memory controller of as many.
MachineModel smp_machine() noexcept {
  return {.name = "SMP",
          .topology = "Package:2 L2Cache:2 Core:2 PU:1",
          .cache_bytes = std::size_t{4} << 20U,
          .core_from_cache = 6,
          .core_from_memory = 2.5,
          .core_from_remote = 2.5,
          .controller = 8.5,
          .links = 8.5};
}

// Four channels of memory of 1066 MHz at two thirds of their 34 bytes a nanosecond; links of 5.86 GT/s carry 11.7.
MachineModel numa_machine() noexcept {
  return {.name = "NUMA",
          .topology = "Package:4 [NUMANode] L3Cache:1 Core:8 PU:1",
          .cache_bytes = std::size_t{18} << 20U,
          .core_from_cache = 8,
          .core_from_memory = 4,
          .core_from_remote = 2,
          .controller = 22,
          .links = 11.7};
}

PaperMachine::PaperMachine(const MachineModel& model, const runtime::Topology& topology,
                           std::size_t block_bytes, double ns_a_byte)
    : model_(model),
      topology_(topology),
      blocks_a_cache_(std::max<std::size_t>(1, model.cache_bytes / block_bytes)),
      ns_a_byte_(ns_a_byte),
      clocks_(topology.pus.size(), 0),
      groups_(topology.core_groups.size()),
      controllers_(topology.nodes.size(), 0),
      links_(topology.nodes.size(), 0) {}

double PaperMachine::serve(double& free_from, double now, double bytes, double rate) noexcept {
  free_from = std::max(free_from, now) + bytes / rate;
  return free_from;
}

bool PaperMachine::touch(Group& group, const void* block) noexcept {
  const auto found = group.find.find(block);
  if (found == group.find.end()) {
    return false;
  }
  group.blocks.splice(group.blocks.begin(), group.blocks, found->second);
  return true;
}

void PaperMachine::insert(Group& group, const void* block, runtime::NumaNodeId home, bool written,
                          double now) {
  if (group.blocks.size() >= blocks_a_cache_) {
    const Cached& last = group.blocks.back();
    if (last.written) {
      const auto bytes = static_cast<double>(model_.cache_bytes) / static_cast<double>(blocks_a_cache_);
      serve(controllers_[last.home.index()], now, bytes, model_.controller);
    }
    group.find.erase(last.block);
    group.blocks.pop_back();
  }
  group.blocks.push_front({block, home, written});
  group.find[block] = group.blocks.begin();
}

void PaperMachine::read(std::size_t worker, const void* block, runtime::NumaNodeId home, std::size_t bytes) {
  const runtime::ProcessingUnit& here = topology_.pus[worker];
  const auto all = static_cast<double>(bytes);
  double& now = clocks_[worker];
  double end = now;
  if (touch(groups_[here.group.index()], block)) {
    end += all / model_.core_from_cache;
  } else {
    const bool remote = here.node != home;
    end += all / (remote ? model_.core_from_remote : model_.core_from_memory);
    end = std::max(end, serve(controllers_[home.index()], now, all, model_.controller));
    if (remote) {  // both nodes are busy with it
      end = std::max(end, serve(links_[home.index()], now, all, model_.links));
      end = std::max(end, serve(links_[here.node.index()], now, all, model_.links));
    }
    insert(groups_[here.group.index()], block, home, false, now);
  }
  now = end + all * ns_a_byte_;
}

void PaperMachine::write(std::size_t worker, const void* block, std::size_t bytes) {
  const runtime::ProcessingUnit& here = topology_.pus[worker];
  double& now = clocks_[worker];
  for (std::size_t i = 0; i < groups_.size(); ++i) {  // others' copies are of the past
    Group& group = groups_[i];
    if (const auto found = group.find.find(block); found != group.find.end() && i != here.group.index()) {
      group.blocks.erase(found->second);
      group.find.erase(found);
    }
  }
  Group& own = groups_[here.group.index()];
  if (touch(own, block)) {
    own.blocks.front().written = true;
  } else {
    insert(own, block, here.node, true, now);
  }
  now += static_cast<double>(bytes) * (1 / model_.core_from_cache + ns_a_byte_);
}

}  // namespace mxkv::bench
