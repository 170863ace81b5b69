#include "server/daemon/host_state.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

namespace mxkv::server {

namespace {

std::string first_line(const std::filesystem::path& file) {
  std::ifstream stream{file};
  std::string line;
  std::getline(stream, line);
  return line;
}

/// Returns the word in brackets of "always [madvise] never".
std::string chosen_word(const std::string& line) {
  const std::size_t open = line.find('[');
  const std::size_t close = line.find(']');
  return open == std::string::npos || close == std::string::npos || close < open
             ? std::string{}
             : line.substr(open + 1, close - open - 1);
}

std::size_t swap_in(const std::filesystem::path& meminfo) {
  std::ifstream stream{meminfo};
  for (std::string key; stream >> key;) {
    std::size_t kib = 0;
    if (key == "SwapTotal:" && stream >> kib) {
      return kib << 10U;
    }
    stream.ignore(1 << 12, '\n');
  }
  return 0;
}

/// Returns the soft limit in "Max open files            1024                 524288               files".
std::size_t descriptors_in(const std::filesystem::path& limits) {
  constexpr std::string_view kName = "Max open files";
  std::ifstream stream{limits};
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(kName)) {
      std::istringstream rest{line.substr(kName.size())};
      std::size_t soft = 0;
      return rest >> soft ? soft : 0;  // "unlimited" is no number
    }
  }
  return 0;
}

}  // namespace

HostState read_host_state(const std::filesystem::path& root) {
  HostState state;
  const std::string balancing = first_line(root / "proc/sys/kernel/numa_balancing");
  state.numa_balancing = !balancing.empty() && balancing != "0";
  state.transparent_huge_pages = chosen_word(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  state.swap_bytes = swap_in(root / "proc/meminfo");
  state.descriptors = descriptors_in(root / "proc/self/limits");
  return state;
}

void raise_descriptor_limit(std::size_t needed) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
    limit.rlim_cur = std::min<rlim_t>(needed, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);  // if refused, a warning at start says so
  }
}

}  // namespace mxkv::server
