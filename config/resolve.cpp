// Places workers on the machine's CPUs, adds up memory, and finds options that exclude each other.
#include "config/resolve.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "config/choose_topology.hpp"
#include "config/cluster.hpp"
#include "config/collisions.hpp"
#include "config/machine_names.hpp"
#include "config/parse.hpp"
#include "config/place.hpp"

namespace mxkv::config {
namespace {

using runtime::NumaNode;
using runtime::ProcessingUnit;
using runtime::PuId;
using runtime::Topology;
using runtime::WorkerPlacement;

runtime::PrefetchOptions changed(const runtime::PrefetchOptions& all, const PrefetchChanges& changes) {
  return {.mode = changes.mode.value_or(all.mode),
          .distance = changes.distance.value_or(all.distance),
          .window = changes.window.value_or(all.window)};
}

class Resolver {
 public:
  Resolver(const DaemonOptions& options, const Topology& topology, const MachineFacts& facts,
           Findings& findings)
      : options_(options), topology_(topology), facts_(facts), findings_(findings) {}

  Resolved run() {
    const PlacementOptions* placement = choose();
    if (placement == nullptr) {
      return {};
    }
    result_.runtime.prefetch = options_.prefetch;
    result_.runtime.order = options_.order;
    result_.runtime.order_reach = options_.order_reach;
    result_.runtime.topology = std::make_shared<const Topology>(topology_);
    result_.runtime.workers = workers(*placement);
    check_listeners();
    check_addresses();
    check_logins();
    check_reads();
    check_cluster(options_, findings_);
    result_.runtime.memory = options_.memory;
    result_.runtime.memory.limit_bytes = memory_limit(*placement);
    check_kept(result_.runtime.memory.limit_bytes);
    result_.runtime.epoch = options_.epoch;
    result_.runtime.spin_rounds = options_.spin_rounds;
    for (const NumaNode& node : topology_.nodes) {
      count_workers(node);
      if (topology_.nodes.size() > 1) {
        result_.runtime.os_nodes.push_back(node.os_index);
        if (!shares_.empty()) {
          const auto share = shares_.find(node.os_index);
          result_.runtime.node_bytes.push_back(share == shares_.end() ? 0 : share->second);
        }
      }
    }
    return std::move(result_);
  }

 private:
  void report(const std::string& path, std::string what) {
    const Origin* origin = find_origin(options_.origins, path);
    findings_.push_back({origin == nullptr ? Origin{} : *origin, path, std::move(what)});
  }

  // The placement in force; sets the prefix of its paths. Null: none, which was reported.
  const PlacementOptions* choose() {
    if (options_.topologies.empty()) {
      return &options_;
    }
    for (const auto& [key, given] :
         {std::pair{"workers", options_.workers != 0}, std::pair{"cpus", !options_.cpus.empty()},
          std::pair{"nodes", !options_.nodes.empty()}}) {
      if (given) {
        report(key, "given together with topologies (allowed: one of them; topologies have their own)");
      }
    }
    std::string why;
    const std::optional<std::size_t> chosen = choose_topology(options_.topologies, topology_, facts_, why);
    if (!chosen) {
      report("topologies", why);
      return nullptr;
    }
    prefix_ = "topologies[" + std::to_string(*chosen) + "].";
    result_.topology = options_.topologies[*chosen].name;
    return &options_.topologies[*chosen];
  }

  // The units of the list's CPUs that exist; reports the others.
  Units units_of(const std::vector<PuId>& cpus, const std::string& path) {
    Units units;
    std::vector<PuId> absent;
    for (const PuId cpu : cpus) {
      const ProcessingUnit* unit = topology_.find(cpu);
      if (unit == nullptr) {
        absent.push_back(cpu);
      } else {
        units.push_back(unit);
      }
    }
    if (!absent.empty()) {
      report(path, name_of(absent) + (absent.size() == 1 ? " does" : " do") +
                       " not exist, or this process may not use " + (absent.size() == 1 ? "it" : "them") +
                       " (available: " + format_cpu_list(all_cpus(topology_)) + ")");
    }
    return units;
  }

  // Two listeners cannot have one place, whether they are for clients or for administration.
  void check_addresses() {
    std::vector<ListenAddress> all = options_.listeners;
    const std::vector<ListenAddress>& admin = options_.admin.listeners;
    all.insert(all.end(), admin.begin(), admin.end());
    const auto name = [clients = options_.listeners.size(), peer = all.size()](std::size_t i) {
      return i == peer     ? std::string{"cluster.peer"}
             : i < clients ? "listeners[" + std::to_string(i) + "]"
                           : "admin.listeners[" + std::to_string(i - clients) + "]";
    };
    if (!options_.cluster.name.empty() && options_.cluster.peer) {
      all.push_back(*options_.cluster.peer);
    }
    for (const auto& [first, second] : collisions(all)) {
      report(name(second), format_listen(all[second]) + " is taken already (by " + name(first) + ", " +
                               format_listen(all[first]) + ")");
    }
    for (std::size_t i = 0; i < admin.size(); ++i) {
      if (admin[i].node) {
        report("admin.listeners[" + std::to_string(i) + "].node",
               "no worker serves administration (allowed: a listener without node)");
      }
      if (admin[i].role != ListenAddress{}.role) {
        report("admin.listeners[" + std::to_string(i) + "].role",
               "its clients send no commands (allowed: a listener without role)");
      }
      if (admin[i].reads != listener_reads::owner) {
        report("admin.listeners[" + std::to_string(i) + "].reads",
               "its clients read no keys (allowed: a listener without reads)");
      }
    }
  }

  // A login needs users. A listener's role is for clients without a login.
  void check_logins() {
    for (std::size_t i = 0; i < options_.listeners.size(); ++i) {
      const ListenAddress& one = options_.listeners[i];
      const bool logs_in = one.auth != listener_auth::none && !options_.server.auth_file.empty();
      if (one.role != ListenAddress{}.role && logs_in) {
        report("listeners[" + std::to_string(i) + "].role",
               "has no effect where clients log in: their users have roles (allowed: role together with "
               "auth: none)");
      }
    }
    const auto check = [this](const std::vector<ListenAddress>& listeners, const std::string& name) {
      for (std::size_t i = 0; i < listeners.size(); ++i) {
        if (listeners[i].auth == listener_auth::required && options_.server.auth_file.empty()) {
          report(name + "[" + std::to_string(i) + "].auth",
                 "is required, but there are no users (allowed: required together with server.auth_file)");
        }
      }
    };
    check(options_.listeners, "listeners");
    check(options_.admin.listeners, "admin.listeners");
  }

  // Only a cluster has replicas.
  void check_reads() {
    for (std::size_t i = 0; i < options_.listeners.size(); ++i) {
      if (options_.listeners[i].reads == listener_reads::replica && options_.cluster.name.empty()) {
        report("listeners[" + std::to_string(i) + "].reads",
               "is replica, but there is no cluster (allowed: replica together with cluster.name)");
      }
    }
  }

  // A listener for a node needs workers on that node.
  void check_listeners() {
    for (std::size_t i = 0; i < options_.listeners.size() && !result_.runtime.workers.empty(); ++i) {
      const std::optional<std::uint32_t> os_node = options_.listeners[i].node;
      const NumaNode* node = os_node ? topology_.find_node(*os_node) : nullptr;
      if (os_node && !std::ranges::any_of(result_.runtime.workers, [node](const WorkerPlacement& worker) {
            return node != nullptr && worker.node == node->node;
          })) {
        report("listeners[" + std::to_string(i) + "].node",
               "no worker runs on NUMA node " + std::to_string(*os_node) +
                   " (available: " + available_nodes(topology_) + ")");
      }
    }
  }

  std::vector<WorkerPlacement> workers(const PlacementOptions& placement) {
    if (!placement.nodes.empty()) {
      return on_nodes(placement);
    }
    const bool chosen = !placement.cpus.empty();
    const Units units = units_of(chosen ? placement.cpus : all_cpus(topology_), prefix_ + "cpus");
    std::size_t count = placement.workers;
    if (count == 0 && !chosen && facts_.cgroup_cpus != 0) {
      count = std::min<std::size_t>(units.size(), facts_.cgroup_cpus);
    }
    return units.empty() ? std::vector<WorkerPlacement>{} : place(units, count, chosen);
  }

  std::vector<WorkerPlacement> on_nodes(const PlacementOptions& placement) {
    for (const auto& [key, given] :
         {std::pair{"workers", placement.workers != 0}, std::pair{"cpus", !placement.cpus.empty()}}) {
      if (given) {
        report(prefix_ + key,
               "given together with nodes (allowed: one of them; nodes have workers and cpus of their own)");
      }
    }
    std::vector<WorkerPlacement> placements;
    for (std::size_t i = 0; i < placement.nodes.size(); ++i) {
      const std::vector<WorkerPlacement> part =
          on_node(placement.nodes[i], prefix_ + "nodes[" + std::to_string(i) + "]");
      placements.insert(placements.end(), part.begin(), part.end());
    }
    return by_node(placements);
  }

  // The workers of one entry of `nodes:`; none if the entry has a mistake.
  std::vector<WorkerPlacement> on_node(const NodeOptions& wanted, const std::string& path) {
    const std::size_t findings_before = findings_.size();
    const std::string name = "node " + std::to_string(wanted.node);
    if (const auto [first, added] = seen_nodes_.try_emplace(wanted.node, path); !added) {
      report(path + ".node", name + " is listed twice (first as " + first->second + ")");
    }
    const std::vector<PuId> fresh = not_yet_taken(wanted.cpus, path + ".cpus");
    const NumaNode* node = topology_.find_node(wanted.node);
    if (node == nullptr) {
      report(path + ".node", "NUMA " + name + " does not exist, or this process may not use it (available: " +
                                 available_nodes(topology_) + ")");
      return {};
    }
    if (node->pus.empty()) {
      report(path + ".node", name + " has no CPU that this process may use");
    }
    const Units units = wanted.cpus.empty() ? units_of(node->pus, "") : units_of(fresh, path + ".cpus");
    std::vector<PuId> foreign;
    for (const ProcessingUnit* unit : units) {
      if (unit->node != node->node) {
        foreign.push_back(unit->pu);
      }
    }
    if (!foreign.empty()) {
      report(path + ".cpus", name_of(foreign) + (foreign.size() == 1 ? " is" : " are") + " not of " + name +
                                 " (it has " + (node->pus.empty() ? "none" : format_cpu_list(node->pus)) +
                                 ")");
    }
    check_memory(wanted, *node, name, path);
    if (findings_.size() != findings_before) {
      return {};
    }
    std::vector<WorkerPlacement> placed = place(units, wanted.workers, !wanted.cpus.empty());
    for (WorkerPlacement& worker : placed) {
      if (wanted.prefetch != PrefetchChanges{}) {
        worker.prefetch = changed(options_.prefetch, wanted.prefetch);
      }
    }
    return placed;
  }

  // The CPUs of `cpus` that no earlier node has; reports the others.
  std::vector<PuId> not_yet_taken(const std::vector<PuId>& cpus, const std::string& path) {
    std::vector<PuId> fresh;
    std::map<std::string, std::vector<PuId>> taken;
    for (const PuId cpu : cpus) {
      if (const auto [first, added] = seen_cpus_.try_emplace(cpu, path); added) {
        fresh.push_back(cpu);
      } else {
        taken[first->second].push_back(cpu);
      }
    }
    for (const auto& [by, list] : taken) {
      report(path, name_of(list) + (list.size() == 1 ? " is" : " are") + " taken already (by " + by + ")");
    }
    return fresh;
  }

  void check_memory(const NodeOptions& wanted, const NumaNode& node, const std::string& name,
                    const std::string& path) {
    if (wanted.memory_percent != 0 && node.memory_bytes == 0) {
      report(path + ".memory", name + " does not report its memory (allowed: a size)");
    }
    if (node.memory_bytes != 0 && wanted.memory_bytes > node.memory_bytes) {
      report(path + ".memory", name + " has only " + format_size_rounded(node.memory_bytes));
    }
    if (wanted.memory_bytes != 0 || wanted.memory_percent != 0) {
      shares_[wanted.node] = wanted.memory_percent != 0 ? part_of(node.memory_bytes, wanted.memory_percent)
                                                        : wanted.memory_bytes;
    }
  }

  // The limit of tree, items and buffers together.
  std::size_t memory_limit(const PlacementOptions& placement) {
    const auto has_share = [](const NodeOptions& node) {
      return node.memory_bytes != 0 || node.memory_percent != 0;
    };
    const auto shares = static_cast<std::size_t>(std::ranges::count_if(placement.nodes, has_share));
    const bool limited = options_.memory.limit_bytes != 0 || options_.memory_limit_percent != 0;
    if (shares == 0) {
      return options_.memory_limit_percent != 0
                 ? part_of(available_memory(facts_), options_.memory_limit_percent)
             : limited ? options_.memory.limit_bytes
                       : default_memory_limit(facts_);
    }
    if (shares != placement.nodes.size()) {
      report(prefix_ + "nodes", "some nodes have memory and some do not (allowed: all or none)");
    }
    if (limited) {
      report("memory.limit", "given together with the memory of nodes (allowed: one of them)");
    }
    std::size_t sum = 0;
    for (const auto& [node, bytes] : shares_) {
      sum += bytes;
    }
    return sum;
  }

  // Prefixes must not keep all memory: tree and buffers need some, and so do other items.
  void check_kept(std::size_t limit) {
    const std::size_t most = limit / 8 * 7;
    std::size_t sum = 0;
    for (std::size_t i = 0; i < options_.prefixes.size(); ++i) {
      const PrefixOptions& prefix = options_.prefixes[i];
      if (const std::size_t own = prefix_memory(prefix, limit);
          prefix.memory_percent != 0 && prefix.keep_bytes > own) {
        report("prefixes[" + std::to_string(i) + "].keep", format_size_rounded(prefix.keep_bytes) +
                                                               " is above memory (allowed: at most " +
                                                               format_size_rounded(own) + ")");
      }
      sum += prefix.keep_bytes;
      if (sum > most) {
        report("prefixes[" + std::to_string(i) + "].keep", "makes what prefixes keep more than " +
                                                               format_size_rounded(most) +
                                                               " (allowed: 7/8 of memory.limit)");
        return;
      }
    }
  }

  void count_workers(const NumaNode& node) {
    NodeShare share{.os_index = node.os_index, .cpus = {}, .workers = 0, .memory_bytes = 0};
    for (const WorkerPlacement& worker : result_.runtime.workers) {
      if (worker.node == node.node) {
        ++share.workers;
        if (worker.pinned) {
          share.cpus.push_back(worker.pu);
        }
      }
    }
    const auto bytes = shares_.find(node.os_index);
    share.memory_bytes = bytes == shares_.end() ? 0 : bytes->second;
    if (share.workers != 0) {
      result_.nodes.push_back(std::move(share));
    }
  }

  const DaemonOptions& options_;
  const Topology& topology_;
  const MachineFacts& facts_;
  Findings& findings_;
  Resolved result_;
  std::string prefix_;                               // of paths inside the chosen section
  std::map<std::uint32_t, std::string> seen_nodes_;  // path of the entry that has it
  std::map<PuId, std::string> seen_cpus_;            // path of the entry that has it
  std::map<std::uint32_t, std::size_t> shares_;      // bytes by node
};

}  // namespace

Resolved resolve(const DaemonOptions& options, const Topology& topology, const MachineFacts& facts,
                 Findings& findings) {
  return Resolver{options, topology, facts, findings}.run();
}

runtime::Result<Resolved> resolve(const DaemonOptions& options, const Topology& topology,
                                  const MachineFacts& facts) {
  Findings findings;
  Resolved resolved = resolve(options, topology, facts, findings);
  if (!findings.empty()) {
    return to_error(std::move(findings));
  }
  return resolved;
}

}  // namespace mxkv::config
