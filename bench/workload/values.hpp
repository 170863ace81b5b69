// Values that prove themselves: a reader that knows the key can tell a right value from a wrong or torn one.
//
// The first 8 bytes are a stamp made from the version; every later word follows from key, stamp, length and
// position. So no table of written values is needed, and checking costs a compare a word. All bytes are
// printable. The check cannot tell an older version of the same key from a newer one, because any client may
// have written either. Values under 16 bytes carry no stamp, only bytes of the key's hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mxkv::bench {

/// Fills out[0, bytes) with the value of that key in that version. Thread-safety: any thread.
void write_value(std::uint64_t key_hash, std::uint64_t version, char* out, std::size_t bytes) noexcept;

/// Whether `data` is the value that write_value makes for this key, this length and some version.
/// Thread-safety: any thread.
[[nodiscard]] bool value_matches(std::uint64_t key_hash, std::string_view data, std::size_t bytes) noexcept;

}  // namespace mxkv::bench
