// Times for reports: the date, and the CPU time of this process.
#pragma once

#include <cstdint>
#include <string>

namespace mxkv::bench {

/// Milliseconds since 1970. Thread-safety of all: any thread.
std::uint64_t unix_ms() noexcept;
/// User and system time of this process.
std::uint64_t process_cpu_ns() noexcept;
/// As YCSB writes it: 2024-01-31 12:00:00:123.
std::string date_now();

}  // namespace mxkv::bench
