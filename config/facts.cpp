// Reads the limits of this machine and of the control groups from /proc and the cgroup file system.
#include "config/facts.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

namespace mxkv::config {
namespace {

using runtime::Error;
using runtime::Result;

// The number at the start of `text` after blanks; 0 for "max" and all other text.
std::size_t leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::size_t number_in(const std::filesystem::path& file) {
  std::ifstream stream{file};
  std::string line;
  return std::getline(stream, line) ? leading_number(line) : 0;
}

// CPUs' worth of time in "quota period", rounded up; 0 for "max", for -1 and for text that is no quota.
std::size_t quota_cpus(std::size_t quota, std::size_t period) {
  return period == 0 ? 0 : (quota + period - 1) / period;
}

std::size_t quota_in(const std::filesystem::path& directory) {
  std::ifstream stream{directory / "cpu.max"};
  std::size_t quota = 0;
  std::size_t period = 0;
  return stream >> quota >> period ? quota_cpus(quota, period) : 0;
}

std::size_t quota_in_version_1(const std::filesystem::path& directory) {
  return quota_cpus(number_in(directory / "cpu.cfs_quota_us"), number_in(directory / "cpu.cfs_period_us"));
}

std::size_t tighter(std::size_t a, std::size_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

// The tightest limit of the group `group` and its parents below `mount`, as `read` finds it in a directory;
// 0: none. Inside a container the path may be the host's, whose directories do not exist there: they count as
// no limit, and the container's own limit is at the mount.
template <class Read>
std::size_t tightest_limit(const std::filesystem::path& mount, std::string_view group, Read read) {
  std::size_t tightest = 0;
  std::filesystem::path relative = std::filesystem::path{group}.relative_path().lexically_normal();
  if (relative.string().starts_with("..")) {
    relative.clear();
  }
  for (;;) {
    tightest = tighter(tightest, read(mount / relative));
    if (relative.empty() || relative == ".") {
      return tightest;
    }
    relative = relative.parent_path();
  }
}

struct CgroupLimits {
  std::size_t memory_bytes = 0;
  std::size_t cpus = 0;
};

CgroupLimits cgroup_limits(const std::filesystem::path& root) {
  std::ifstream groups{root / "proc/self/cgroup"};
  const std::filesystem::path mount = root / "sys/fs/cgroup";
  const auto memory_in = [](const char* file) {
    return [file](const std::filesystem::path& directory) { return number_in(directory / file); };
  };
  CgroupLimits limits;
  // Lines are "id:controllers:path"; version 2 has one line, "0::path".
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string name = line.substr(first + 1, second - first - 1);
    const std::string controllers = "," + name + ",";
    const std::string_view group = std::string_view{line}.substr(second + 1);
    if (name.empty()) {
      limits.memory_bytes =
          tighter(limits.memory_bytes, tightest_limit(mount, group, memory_in("memory.max")));
      limits.cpus = tighter(limits.cpus, tightest_limit(mount, group, quota_in));
    }
    if (controllers.find(",memory,") != std::string::npos) {
      limits.memory_bytes = tighter(
          limits.memory_bytes, tightest_limit(mount / "memory", group, memory_in("memory.limit_in_bytes")));
    }
    if (controllers.find(",cpu,") != std::string::npos) {
      limits.cpus = tighter(limits.cpus, tightest_limit(mount / name, group, quota_in_version_1));
      limits.cpus = tighter(limits.cpus, tightest_limit(mount / "cpu", group, quota_in_version_1));
    }
  }
  return limits;
}

}  // namespace

Result<MachineFacts> read_machine_facts(const std::filesystem::path& root) {
  MachineFacts facts;
  const std::filesystem::path file = root / "proc/meminfo";
  std::ifstream meminfo{file};
  for (std::string line; facts.memory_bytes == 0 && std::getline(meminfo, line);) {
    constexpr std::string_view kTotal = "MemTotal:";
    if (line.starts_with(kTotal)) {
      facts.memory_bytes = leading_number(std::string_view{line}.substr(kTotal.size())) << 10U;  // in KiB
    }
  }
  if (facts.memory_bytes == 0) {
    return Error{file.string() + ": does not state the memory of this machine"};
  }
  const CgroupLimits limits = cgroup_limits(root);
  // Version 1 writes "no limit" as a number beyond any machine.
  facts.cgroup_limit_bytes = limits.memory_bytes < facts.memory_bytes ? limits.memory_bytes : 0;
  facts.cgroup_cpus = static_cast<std::uint32_t>(std::min<std::size_t>(limits.cpus, UINT32_MAX));
  return facts;
}

MachineFacts facts_of(const runtime::Topology& topology) noexcept {
  MachineFacts facts;
  for (const runtime::NumaNode& node : topology.nodes) {
    facts.memory_bytes += node.memory_bytes;
  }
  return facts;
}

void share_out_memory(runtime::Topology& topology, const MachineFacts& facts) noexcept {
  const std::size_t told = facts_of(topology).memory_bytes;
  const bool all = std::ranges::all_of(topology.nodes,
                                       [](const runtime::NumaNode& node) { return node.memory_bytes != 0; });
  constexpr std::size_t kStep = 4096;  // so that the product of two memory sizes fits a word
  if (!all || told < kStep || told >= facts.memory_bytes) {
    return;
  }
  for (runtime::NumaNode& node : topology.nodes) {
    node.memory_bytes = facts.memory_bytes / kStep * (node.memory_bytes / kStep) / (told / kStep) * kStep;
  }
}

std::size_t available_memory(const MachineFacts& facts) noexcept {
  const bool limited = facts.cgroup_limit_bytes != 0 && facts.cgroup_limit_bytes < facts.memory_bytes;
  return limited ? facts.cgroup_limit_bytes : facts.memory_bytes;
}

std::size_t default_memory_limit(const MachineFacts& facts) noexcept {
  return available_memory(facts) / 4 * 3;
}

}  // namespace mxkv::config
