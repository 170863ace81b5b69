#include "bench/figures/paper_machine.hpp"

#include <algorithm>

namespace mxkv::bench {

// A bus of 1066 MHz has 8.5 bytes a nanosecond; both end at one memory controller of as many. The shares that
// one core gets of it, and of the cache that it shares, are assumed.
MachineModel smp_machine() noexcept {
  return {.name = "SMP",
          .topology = "Package:2 L2Cache:2 Core:2 PU:1",
          .cache_bytes = std::size_t{4} << 20U,
          .own_bytes = 0,
          .core_from_own = 6,
          .core_from_cache = 6,
          .core_from_memory = 2.5,
          .core_from_remote = 2.5,
          .core_to_cache = 6,
          .controller = 8.5,
          .link = 8.5};
}

// At 2.0 GHz. Cache rates were measured on this core (7-cpu.com, Westmere): 4 cycles a line from the second
// level, 5.2 from the third, 6.6 to write one; the third level of this model, a ring of eight slices, is farther away
// than the measured one of six cores, so it gets half. Memory: a core has 10 lines under way; one takes 136 ns from its
// own node's memory and 198 from another's (Intel, memory latencies of the E7-4800 product family). Controller: four
// channels of 978 MHz at two thirds of their 31 bytes a nanosecond. Links: each two processors have one, of 5.86 GT/s, which
// carries 11.7 in each direction, of which eight of nine flits are data.
MachineModel numa_machine() noexcept {
  constexpr double kGHz = 2.0;
  constexpr double kLine = 64;
  constexpr double kLinesUnderWay = 10;
  return {.name = "NUMA",
          .topology = "Package:4 [NUMANode] L3Cache:1 L2Cache:8 Core:1 PU:1",
          .cache_bytes = std::size_t{18} << 20U,
          .own_bytes = std::size_t{256} << 10U,
          .core_from_own = kLine / 4 * kGHz,
          .core_from_cache = kLine / 5.2 * kGHz / 2,
          .core_from_memory = kLinesUnderWay * kLine / 136,
          .core_from_remote = kLinesUnderWay * kLine / 198,
          .core_to_cache = kLine / 6.6 * kGHz,
          .controller = 21,
          .link = 10.4};
}

PaperMachine::PaperMachine(const MachineModel& model, const runtime::Topology& topology,
                           std::size_t block_bytes, double ns_a_byte)
    : model_(model),
      topology_(topology),
      blocks_a_cache_(std::max<std::size_t>(1, model.cache_bytes / block_bytes)),
      blocks_a_core_(model.own_bytes / block_bytes),
      ns_a_byte_(ns_a_byte),
      clocks_(topology.pus.size(), 0),
      groups_(topology.core_groups.size()),
      own_(topology.pus.size()),
      controllers_(topology.nodes.size(), 0),
      links_(topology.nodes.size() * topology.nodes.size(), 0) {}

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

void PaperMachine::insert_own(std::size_t worker, const void* block, runtime::NumaNodeId home) {
  if (blocks_a_core_ == 0) {
    return;
  }
  Group& own = own_[worker];
  if (own.blocks.size() >= blocks_a_core_) {
    own.find.erase(own.blocks.back().block);
    own.blocks.pop_back();
  }
  own.blocks.push_front({block, home, false});
  own.find[block] = own.blocks.begin();
}

void PaperMachine::forget(Group& group, const void* block) noexcept {
  if (const auto found = group.find.find(block); found != group.find.end()) {
    group.blocks.erase(found->second);
    group.find.erase(found);
  }
}

double PaperMachine::fetch(std::size_t worker, const void* block, runtime::NumaNodeId home, double bytes) {
  const runtime::ProcessingUnit& here = topology_.pus[worker];
  const double now = clocks_[worker];
  runtime::NumaNodeId from = home;
  bool from_memory = true;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const auto found = groups_[i].find.find(block);
    if (found != groups_[i].find.end() && found->second->written) {
      from = topology_.core_groups[i].node;
      from_memory = false;
      found->second->written = false;  // the read also updates its memory
      serve(controllers_[home.index()], now, bytes, model_.controller);
    }
  }
  const bool remote = here.node != from;
  double end = now + bytes / (remote ? model_.core_from_remote : model_.core_from_memory);
  if (from_memory) {
    end = std::max(end, serve(controllers_[home.index()], now, bytes, model_.controller));
  }
  if (remote) {
    end = std::max(end, serve(link(from, here.node), now, bytes, model_.link));
  }
  return end;
}

void PaperMachine::read(std::size_t worker, const void* block, runtime::NumaNodeId home, std::size_t bytes) {
  Group& group = groups_[topology_.pus[worker].group.index()];
  const auto all = static_cast<double>(bytes);
  double& now = clocks_[worker];
  double end = now;
  const bool in_group = touch(group, block);
  if (in_group && touch(own_[worker], block)) {
    end += all / model_.core_from_own;
  } else if (in_group) {
    end += all / model_.core_from_cache;
    forget(own_[worker], block);
    insert_own(worker, block, home);
  } else {
    end = fetch(worker, block, home, all);
    insert(group, block, home, false, now);
    forget(own_[worker], block);
    insert_own(worker, block, home);
  }
  now = end + all * ns_a_byte_;
}

void PaperMachine::write(std::size_t worker, const void* block, std::size_t bytes) {
  const runtime::ProcessingUnit& here = topology_.pus[worker];
  const auto all = static_cast<double>(bytes);
  double& now = clocks_[worker];
  Group& group = groups_[here.group.index()];
  double end = now;
  if (!touch(group, block)) {
    end = fetch(worker, block, here.node, all);
    insert(group, block, here.node, true, now);
  }
  group.blocks.front().written = true;
  for (std::size_t i = 0; i < groups_.size(); ++i) {  // copies of other groups are stale
    if (i != here.group.index()) {
      forget(groups_[i], block);
    }
  }
  for (Group& own : own_) {
    forget(own, block);
  }
  insert_own(worker, block, here.node);
  now = end + all * (1 / model_.core_to_cache + ns_a_byte_);
}

}  // namespace mxkv::bench
