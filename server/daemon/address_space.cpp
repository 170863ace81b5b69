#include "server/daemon/address_space.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "config/parse.hpp"
#include "runtime/memory/task_memory.hpp"
#include "runtime/memory/value_space.hpp"
#include "server/store/upkeep/ghosts.hpp"

namespace mxkv::server {

namespace {

std::size_t used_address_bytes() {
  std::ifstream stream{"/proc/self/statm"};
  std::size_t pages = 0;
  return stream >> pages ? pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

std::size_t reserved_address_bytes(std::size_t limit_bytes) noexcept {
  return runtime::TaskMemory::kDefaultReserveBytes +
         2 * runtime::ValueSpace::default_address_bytes(limit_bytes) + Ghosts::reserved_bytes(limit_bytes);
}

std::string lack_of_addresses(std::size_t limit_bytes, std::size_t allowed, std::size_t used) {
  const std::size_t reserved = reserved_address_bytes(limit_bytes);
  if (allowed == 0 || (used < allowed && reserved <= allowed - used)) {
    return {};
  }
  using config::format_size_rounded;
  return "at least " + format_size_rounded(used + reserved) +
         " of address space are needed, but this process may have " + format_size_rounded(allowed) +
         " (RLIMIT_AS): " + format_size_rounded(runtime::TaskMemory::kDefaultReserveBytes) +
         " are reserved for tasks, " +
         format_size_rounded(runtime::ValueSpace::default_address_bytes(limit_bytes)) +
         " each for items and tree, twice the memory limit and some; memory is used only as it fills. "
         "ulimit -v unlimited or LimitAS=infinity, or a lower memory.limit";
}

std::string lack_of_addresses(std::size_t limit_bytes) {
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? lack_of_addresses(limit_bytes, limit.rlim_cur, used_address_bytes()) : std::string{};
}

}  // namespace mxkv::server
