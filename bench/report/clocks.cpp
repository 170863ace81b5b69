#include "bench/report/clocks.hpp"

#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <ctime>

#include "bench/client/units.hpp"

namespace mxkv::bench {
namespace {}  // namespace

std::uint64_t process_cpu_ns() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto nanoseconds = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * kNsPerS +
           static_cast<std::uint64_t>(time.tv_usec) * 1000;
  };
  return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

std::string date_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  ::localtime_r(&now.tv_sec, &local);
  std::array<char, 32> seconds{};
  std::strftime(seconds.data(), seconds.size(), "%Y-%m-%d %H:%M:%S", &local);
  std::array<char, 8> millis{};
  std::snprintf(millis.data(), millis.size(), ":%03d", static_cast<int>(now.tv_nsec / 1'000'000));
  return std::string(seconds.data()) + millis.data();
}

std::uint64_t unix_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / kNsPerMs;
}

}  // namespace mxkv::bench
