#include "bench/report/machine.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

namespace mxkv::bench {
namespace {

/// The value of `name` in a file of lines "name<blanks>separator value".
std::string value_in(const char* path, const std::string& name, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(separator);
    if (!line.starts_with(name) || at == std::string::npos) {
      continue;
    }
    const std::size_t first = line.find_first_not_of(" \t\"", at + 1);
    const std::size_t last = line.find_last_not_of(" \t\"");
    return first == std::string::npos ? std::string() : line.substr(first, last - first + 1);
  }
  return {};
}

std::uint64_t at_least_zero(long value) noexcept {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  utsname names{};
  if (::uname(&names) == 0) {
    machine.host = names.nodename;
    machine.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
  }
  machine.cpu_model = value_in("/proc/cpuinfo", "model name", ':');
  machine.system = value_in("/etc/os-release", "PRETTY_NAME", '=');
  machine.cpus = at_least_zero(::sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    machine.cpus_allowed = at_least_zero(CPU_COUNT(&allowed));
  }
  machine.memory_bytes = at_least_zero(::sysconf(_SC_PHYS_PAGES)) * at_least_zero(::sysconf(_SC_PAGESIZE));
  return machine;
}

std::string quoted_command(int argc, const char* const* argv) {
  static constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string out;
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    out += i > 0 ? " " : "";
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) {
      out += c == '\'' ? "'\\''" : std::string(1, c);
    }
    out += '\'';
  }
  return out;
}

}  // namespace mxkv::bench
