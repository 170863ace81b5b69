// The clocks of the cores of the two servers of [LAS 6.1], as tasks on them read and write blocks.
//
// A coarse model: caches of cores and of core groups hold whole blocks, and evict the least recently used. A
// memory controller and a link between two nodes each serve one block after the other, at the rates below. A
// core waits for the blocks that it reads, and works on each byte for some time. A block that is written and
// in no cache of the writer's is fetched first. Written blocks that leave a cache take turns at the
// controller. A block that another node has written and not sent to memory comes from that node's cache. The
// paper gives models and cache sizes of the processors. Each machine below names the sources of its rates.
//
// Thread-safety: one thread, which steps all workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "runtime/topology/topology.hpp"

namespace mxkv::bench {

struct MachineModel {
  const char* name;
  const char* topology;     ///< hwloc's synthetic description
  std::size_t cache_bytes;  ///< of a core group
  std::size_t own_bytes;    ///< of a core's own second-level cache; 0: none
  // Bytes a nanosecond:
  double core_from_own;    ///< that a core gets
  double core_from_cache;  ///< the same, from its group's
  double core_from_memory;
  double core_from_remote;
  double core_to_cache;  ///< that it writes
  double controller;     ///< that a node's memory serves to all cores
  double link;           ///< that a link carries in one direction; there is one between each two nodes
};

/// Two Xeon E5310: four pairs of cores with 4 MB of second-level cache each, all at two buses to one memory.
[[nodiscard]] MachineModel smp_machine() noexcept;
/// Four Xeon E7-4820 of eight cores (without their second threads), 18 MB of third-level cache each.
[[nodiscard]] MachineModel numa_machine() noexcept;

class PaperMachine {
 public:
  PaperMachine(const MachineModel& model, const runtime::Topology& topology, std::size_t block_bytes,
               double ns_a_byte);

  /// Nanoseconds of simulated time, by worker: the i-th processing unit's.
  [[nodiscard]] std::vector<double>& clocks() noexcept { return clocks_; }
  /// `home`: the node whose memory has the block.
  void read(std::size_t worker, const void* block, runtime::NumaNodeId home, std::size_t bytes);
  /// Of the worker's own node.
  void write(std::size_t worker, const void* block, std::size_t bytes);

 private:
  struct Cached {
    const void* block;
    runtime::NumaNodeId home;
    bool written;
  };
  struct Group {
    std::list<Cached> blocks;  ///< most recently used first
    std::unordered_map<const void*, std::list<Cached>::iterator> find;
  };

  /// Whether a group has the block; if so, makes it the most recently used.
  static bool touch(Group& group, const void* block) noexcept;
  void insert(Group& group, const void* block, runtime::NumaNodeId home, bool written, double now);
  /// Puts a block into the core's own cache, which writes nothing back: its group's cache has all of its
  /// blocks.
  void insert_own(std::size_t worker, const void* block, runtime::NumaNodeId home);
  static void forget(Group& group, const void* block) noexcept;
  /// The time when a block arrives that no cache of the worker's group has.
  [[nodiscard]] double fetch(std::size_t worker, const void* block, runtime::NumaNodeId home, double bytes);
  [[nodiscard]] double& link(runtime::NumaNodeId from, runtime::NumaNodeId to) noexcept {
    return links_[from.index() * controllers_.size() + to.index()];
  }
  /// The time when `bytes` bytes have passed, behind all earlier ones.
  static double serve(double& free_from, double now, double bytes, double rate) noexcept;

  MachineModel model_;
  const runtime::Topology& topology_;
  std::size_t blocks_a_cache_;
  std::size_t blocks_a_core_;  ///< 0: a core has no cache of its own, or one that holds no block
  double ns_a_byte_;
  std::vector<double> clocks_;
  std::vector<Group> groups_;
  std::vector<Group> own_;           ///< of each core
  std::vector<double> controllers_;  ///< by node: busy until
  std::vector<double> links_;        ///< by the nodes at both ends
};

}  // namespace mxkv::bench
