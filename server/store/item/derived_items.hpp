// Items made from other items: append and prepend, incr and decr, touch of an item without an expiry field,
// and copies. All are built outside of the latch; null: out of memory. The sources must be safe to read. If
// the value stays the same, or is a number that was counted on, the new item keeps the mark that the old one
// was read.
#pragma once

#include "server/store/item/item.hpp"

namespace mxkv::server {

/// `old` (key, flags, expiry) with the values of `front` and `back` joined. Large values share their chunks.
/// `cas`: the number that a client chose, or null.
[[nodiscard]] Item* join_values(runtime::Worker& worker, const Item& old, const Item& front, const Item& back,
                                const std::uint64_t* cas = nullptr) noexcept;
/// `old` with another expiry, these marks, and a cas as above. The caller mints a new version.
[[nodiscard]] Item* with_marks(runtime::Worker& worker, const Item& old, std::uint32_t expiry,
                               std::uint32_t marks, const std::uint64_t* cas) noexcept;
/// `old` with another small value.
[[nodiscard]] Item* with_value(runtime::Worker& worker, const Item& old, std::string_view value) noexcept;
/// `old` with an expiry field, set to `expiry`.
[[nodiscard]] Item* with_expiry(runtime::Worker& worker, const Item& old, std::uint32_t expiry) noexcept;

/// The same item in another block. A large value is shared.
[[nodiscard]] Item* copy_of(runtime::Worker& worker, const Item& old) noexcept;

/// Reads a stored decimal u64 (protocol rule 26: trailing spaces are accepted). False: not a number.
[[nodiscard]] bool read_number(const Item& item, std::uint64_t& number) noexcept;

}  // namespace mxkv::server
