// Settings of the machine and the process that may harm the daemon, and that it does not change.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace mxkv::server {

struct HostState {
  bool numa_balancing = false;         ///< the kernel moves pages between nodes by itself
  std::string transparent_huge_pages;  ///< always, madvise, never; empty: unknown
  std::size_t swap_bytes = 0;          ///< swap space in use by the system
  std::size_t descriptors = 0;         ///< most that this process may open; 0: unknown
};

/// Reads the settings below `root`; unreadable ones keep their defaults. Thread-safety: startup only.
[[nodiscard]] HostState read_host_state(const std::filesystem::path& root = "/");

/// Raises this process's limit of open descriptors to `needed`, or as far as the hard limit allows; never
/// lowers it. Thread-safety: startup only.
void raise_descriptor_limit(std::size_t needed) noexcept;

}  // namespace mxkv::server
