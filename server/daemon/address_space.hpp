// Checks that this process may have the address space that the daemon reserves. The daemon reserves far more
// than it ever uses, so that nothing has to move when memory grows.
#pragma once

#include <cstddef>
#include <string>

namespace mxkv::server {

/// Bytes of address space that a start reserves for a memory limit.
[[nodiscard]] std::size_t reserved_address_bytes(std::size_t limit_bytes) noexcept;

/// Why `allowed` bytes of address space, of which `used` are taken, are too few for a memory limit; empty:
/// they are enough. `allowed` 0: no limit.
[[nodiscard]] std::string lack_of_addresses(std::size_t limit_bytes, std::size_t allowed, std::size_t used);

/// The same for this process.
[[nodiscard]] std::string lack_of_addresses(std::size_t limit_bytes);

}  // namespace mxkv::server
