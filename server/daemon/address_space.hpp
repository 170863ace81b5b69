// Whether this process may have the address space that the daemon reserves: far more than it ever uses, so
// that nothing has to move when it grows.
#pragma once

#include <cstddef>
#include <string>

namespace mxkv::server {

/// What is reserved at the start for a memory limit.
[[nodiscard]] std::size_t reserved_address_bytes(std::size_t limit_bytes) noexcept;

/// Why `allowed` bytes of address space, of which `used` are taken, will not do for a memory limit; or
/// nothing. `allowed` 0: no limit.
[[nodiscard]] std::string lack_of_addresses(std::size_t limit_bytes, std::size_t allowed, std::size_t used);

/// The same of this process.
[[nodiscard]] std::string lack_of_addresses(std::size_t limit_bytes);

}  // namespace mxkv::server
