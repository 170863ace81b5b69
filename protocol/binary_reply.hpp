// Answers of memcached's binary protocol: writers that append to a caller's buffer and return the new end. The
// caller provides the room; each writer says how much it needs at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/binary.hpp"

namespace mxkv::protocol {

/// The header fields of an answer that do not repeat its request.
struct BinaryAnswer {
  binary_status status = binary_status::success;
  std::uint8_t extras = 0;  ///< bytes
  std::size_t key = 0;      ///< bytes
  std::size_t body = 0;     ///< bytes of extras, key and value together
  std::uint64_t cas = 0;
};

/// The header alone: kBinaryHeaderBytes.
char* write_binary_header(char* out, BinaryForm form, const BinaryAnswer& answer) noexcept;

/// The words that memcached sends with a status. Empty for success.
[[nodiscard]] std::string_view text_of(binary_status status) noexcept;

/// Most bytes of write_binary_error().
inline constexpr std::size_t kMostBinaryErrorBytes = 128;
/// A whole answer with an error's status and text.
char* write_binary_error(char* out, BinaryForm form, binary_status status) noexcept;

/// Big-endian numbers.
char* write_big32(char* out, std::uint32_t value) noexcept;
char* write_big64(char* out, std::uint64_t value) noexcept;

}  // namespace mxkv::protocol
