// Reads the memory facts of this machine from /proc and the cgroup file system.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

#include "config/resolve.hpp"

namespace mxkv::config {
namespace {

using runtime::Error;
using runtime::Result;

// The number at the start of `text` after blanks; 0 for "max" and anything else.
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

// The tightest limit of the group `group` and its parents below `mount`; 0: none.
// Inside a container the path may be the host's, whose directories are not there: they count as no limit,
// and the container's own limit is the one at the mount.
std::size_t tightest_limit(const std::filesystem::path& mount, std::string_view group, const char* file) {
  std::size_t tightest = 0;
  std::filesystem::path relative = std::filesystem::path{group}.relative_path().lexically_normal();
  if (relative.string().starts_with("..")) {
    relative.clear();
  }
  for (;;) {
    const std::size_t limit = number_in(mount / relative / file);
    if (limit != 0 && (tightest == 0 || limit < tightest)) {
      tightest = limit;
    }
    if (relative.empty() || relative == ".") {
      return tightest;
    }
    relative = relative.parent_path();
  }
}

std::size_t cgroup_limit(const std::filesystem::path& root) {
  std::ifstream groups{root / "proc/self/cgroup"};
  const std::filesystem::path mount = root / "sys/fs/cgroup";
  std::size_t tightest = 0;
  // Lines are "id:controllers:path"; version 2 has one line, "0::path".
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = std::string_view{line}.substr(second + 1);
    std::size_t limit = 0;
    if (controllers.empty()) {
      limit = tightest_limit(mount, group, "memory.max");
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      limit = tightest_limit(mount / "memory", group, "memory.limit_in_bytes");
    }
    if (limit != 0 && (tightest == 0 || limit < tightest)) {
      tightest = limit;
    }
  }
  return tightest;
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
    return Error{file.string() + ": does not tell the memory of this machine"};
  }
  const std::size_t limit = cgroup_limit(root);
  // Version 1 writes "no limit" as a number beyond any machine.
  facts.cgroup_limit_bytes = limit < facts.memory_bytes ? limit : 0;
  return facts;
}

std::size_t default_memory_limit(const MachineFacts& facts) noexcept {
  const bool limited = facts.cgroup_limit_bytes != 0 && facts.cgroup_limit_bytes < facts.memory_bytes;
  const std::size_t available = limited ? facts.cgroup_limit_bytes : facts.memory_bytes;
  return available / 4 * 3;
}

}  // namespace mxkv::config
