#include "server/daemon/startup_screen.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "config/doubts.hpp"
#include "config/parse.hpp"
#include "config/without_effect.hpp"

namespace mxkv::server {

namespace {

using config::format_size_rounded;

std::string count_of(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// The origin of a value: "set by config.yaml:3:10", or that the server found it out, as it does for `auto`.
std::string set_by(const config::DaemonOptions& options, std::string_view path, bool automatic = false) {
  const config::Origin* origin = config::find_origin(options.origins, path);
  return origin == nullptr || automatic ? "detected" : "set by " + to_string(*origin);
}

std::string who_placed(const config::DaemonOptions& options, const config::Resolved& resolved) {
  if (!resolved.topology.empty()) {
    return "topology " + resolved.topology + " fits (" + set_by(options, "topologies") + ")";
  }
  const std::array keys{std::pair{"nodes", !options.nodes.empty()}, std::pair{"cpus", !options.cpus.empty()},
                        std::pair{"workers", options.workers != 0}};
  for (const auto& [key, is_given] : keys) {
    if (is_given) {
      return std::string{key} + " " + set_by(options, key);
    }
  }
  return "placement detected";
}

}  // namespace

std::vector<std::string> placement_lines(const config::Resolved& resolved) {
  std::vector<std::string> lines;
  for (const config::NodeShare& node : resolved.nodes) {
    std::string line = "node " + std::to_string(node.os_index) + ": " + count_of(node.workers, "worker");
    line +=
        node.cpus.size() != node.workers ? " on any CPU" : " on CPUs " + config::format_cpu_list(node.cpus);
    if (node.memory_bytes != 0) {
      line += ", " + format_size_rounded(node.memory_bytes) + " of memory";
    }
    lines.push_back(std::move(line));
  }
  lines.push_back("memory: limit " + format_size_rounded(resolved.runtime.memory.limit_bytes));
  return lines;
}

namespace {

/// Says when data is lost: at the end of the process, or of the machine.
std::string durability_line(const config::DaemonOptions& options) {
  const config::DurabilityOptions& mine = options.durability;
  if (!options.cluster.name.empty()) {
    return "a node of the cluster " + options.cluster.name +
           ": data is kept in memory, and acknowledged writes in the brokers' logs";
  }
  if (mine.directory.empty()) {
    return "data is kept in memory only: a restart loses it";
  }
  const std::string what = options.when_full == config::when_full::evict
                               ? "a cache that restarts warm, from "
                               : "a store: data survives a restart, from ";
  switch (mine.sync) {
    case config::sync_mode::commit:
      return what + mine.directory + "; replies wait for the disk, and nothing that was acknowledged is lost";
    case config::sync_mode::interval:
      return what + mine.directory + "; a crash loses at most " +
             config::format_duration_ms(mine.interval_ms);
    case config::sync_mode::never:
      break;
  }
  return what + mine.directory + "; a power cut loses data that the kernel had not written to disk yet";
}

}  // namespace

std::vector<std::string> startup_screen(const config::DaemonOptions& options,
                                        const runtime::Topology& topology, const config::MachineFacts& facts,
                                        const config::Resolved& resolved) {
  std::vector<std::string> lines;
  std::string machine = "machine: " + count_of(topology.nodes.size(), "NUMA node") + ", " +
                        count_of(topology.pus.size(), "CPU") + ", " + format_size_rounded(facts.memory_bytes);
  if (facts.cgroup_limit_bytes != 0) {
    machine += ", of which the control group allows " + format_size_rounded(facts.cgroup_limit_bytes);
  }
  if (facts.cgroup_cpus != 0) {
    machine += ", and the CPU time of " + count_of(facts.cgroup_cpus, "CPU");
  }
  lines.push_back(std::move(machine));
  lines.push_back("workers: " + std::to_string(resolved.runtime.workers.size()) + "; " +
                  who_placed(options, resolved));
  std::vector<std::string> placement = placement_lines(resolved);
  const bool shares = !resolved.nodes.empty() && resolved.nodes.front().memory_bytes != 0;
  const bool automatic = options.memory.limit_bytes == 0 && options.memory_limit_percent == 0;
  placement.back() +=
      shares ? " (the sum of the nodes' shares)" : " (" + set_by(options, "memory.limit", automatic) + ")";
  placement.back() += options.when_full == config::when_full::evict
                          ? "; when it is full, items are evicted"
                          : "; when it is full, writes get SERVER_ERROR out of memory storing object";
  lines.insert(lines.end(), placement.begin(), placement.end());
  lines.push_back(durability_line(options));
  return lines;
}

std::size_t descriptors_needed(const config::DaemonOptions& options, std::size_t workers) {
  // A worker needs descriptors to poll and to be woken; log, pid file, standard streams and timers need the
  // rest. Administration by HTTP has its listeners and connections of its own. Unix sockets accept some
  // beyond the limit.
  constexpr std::size_t kReserve = 8;
  const std::size_t admin = options.admin.listeners.empty() ? 0 : options.admin.listeners.size() + 70;
  const bool unix_socket = std::ranges::any_of(
      options.listeners, [](const config::ListenAddress& listen) { return !listen.path.empty(); });
  return options.limits.connections + (unix_socket ? kReserve : 0) + options.listeners.size() + admin +
         4 * workers + 16;
}

std::vector<std::string> startup_warnings(const config::DaemonOptions& options,
                                          const runtime::Topology& topology,
                                          const config::MachineFacts& facts, const config::Resolved& resolved,
                                          const HostState& host) {
  std::vector<std::string> warnings;
  const std::size_t limit = resolved.runtime.memory.limit_bytes;
  const std::size_t available = config::available_memory(facts);
  if (topology.nodes.size() > 1 && host.numa_balancing) {
    warnings.emplace_back(
        "automatic NUMA balancing is on: the kernel moves pages that are placed already; "
        "turn it off: sysctl kernel.numa_balancing=0");
  }
  if (host.transparent_huge_pages == "never" &&
      options.memory.huge_pages == runtime::huge_pages_mode::transparent) {
    warnings.emplace_back(
        "transparent huge pages are off, so look-ups miss the TLB more often; turn them on: "
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
  }
  const std::size_t needed = descriptors_needed(options, resolved.runtime.workers.size());
  if (host.descriptors != 0 && host.descriptors < needed) {
    warnings.push_back("limits.connections is " + std::to_string(options.limits.connections) + ", but only " +
                       std::to_string(host.descriptors) +
                       " file descriptors may be open; raise the limit: ulimit -n " + std::to_string(needed) +
                       " or LimitNOFILE=" + std::to_string(needed));
  }
  if (limit > available) {
    warnings.push_back("the memory limit of " + format_size_rounded(limit) + " is more than the " +
                       format_size_rounded(available) +
                       " of this machine: the kernel kills or swaps the process before the limit is reached");
  } else if (host.swap_bytes != 0 && limit > available / 4 * 3) {
    warnings.push_back("swap is on (" + format_size_rounded(host.swap_bytes) +
                       ") and the memory limit is more than "
                       "3/4 of the " +
                       format_size_rounded(available) +
                       " there are: values may be swapped out; swapoff, or a lower memory.limit");
  }
  if (facts.cgroup_cpus != 0 && resolved.runtime.workers.size() > facts.cgroup_cpus) {
    warnings.push_back(std::to_string(resolved.runtime.workers.size()) +
                       " workers, but the control group allows " + count_of(facts.cgroup_cpus, "CPU") +
                       ": all workers stop when that CPU time is used up");
  }
  if (std::string crowd = config::crowd_of_workers(resolved); !crowd.empty()) {
    warnings.push_back(std::move(crowd));
  }
  for (const config::Finding& idle :
       config::switches_without_effect(options, resolved.runtime.workers.size(), resolved.nodes.size())) {
    warnings.push_back(to_string(idle));
  }
  return warnings;
}

}  // namespace mxkv::server
