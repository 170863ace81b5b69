// Settings of the machine and the process that the daemon does not change, and that can hurt it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace mxkv::server {

struct HostState {
  bool numa_balancing = false;         ///< the kernel moves pages between nodes by itself
  std::string transparent_huge_pages;  ///< always, madvise, never; empty: unknown
  std::size_t swap_bytes = 0;          ///< swap space that is switched on
  std::size_t descriptors = 0;         ///< most that this process may have open; 0: unknown
};

/// Reads them below `root`; what cannot be read stays as above. Thread-safety: startup only.
[[nodiscard]] HostState read_host_state(const std::filesystem::path& root = "/");

/// Lets this process have `needed` descriptors open, or as many as the hard limit allows; never fewer than it
/// may already. Thread-safety: startup only.
void raise_descriptor_limit(std::size_t needed) noexcept;

}  // namespace mxkv::server
