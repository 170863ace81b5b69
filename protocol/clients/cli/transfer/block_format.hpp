// Numbers of the block format, written and read: no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/clients/cli/transfer/checksum.hpp"

namespace mxkv::cli {

inline constexpr std::string_view kFileMagic = "MXKVDUMP";
inline constexpr std::string_view kBlockMagic = "MXKB";
inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kBlockHeaderBytes = 32;
inline constexpr std::size_t kRecordHeaderBytes = 26;
/// A block holds at most one record more than fits here.
inline constexpr std::size_t kBlockBytes = std::size_t{256} * 1024;
/// The largest value, and some room.
inline constexpr std::uint32_t kMostBlockBytes = 0x7fff0000U;

enum class BlockKind : std::uint32_t { raw = 0, zstd = 1, last = 2 };

struct BlockHeader {
  BlockKind kind = BlockKind::raw;
  std::uint32_t raw_bytes = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t items = 0;
};

template <class Number>
void put_number(std::string& out, Number value) {
  for (std::size_t byte = 0; byte < sizeof value; ++byte) {
    out += static_cast<char>(static_cast<unsigned char>(static_cast<std::uint64_t>(value) >> (8 * byte)));
  }
}

template <class Number>
[[nodiscard]] Number get_number(std::string_view bytes, std::size_t at) noexcept {
  std::uint64_t value = 0;
  for (std::size_t byte = 0; byte < sizeof(Number); ++byte) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + byte])} << (8 * byte);
  }
  return static_cast<Number>(value);
}

/// The 24 bytes that are checked.
[[nodiscard]] inline std::string block_header_text(const BlockHeader& header) {
  std::string text(kBlockMagic);
  put_number(text, static_cast<std::uint32_t>(header.kind));
  put_number(text, header.raw_bytes);
  put_number(text, header.stored_bytes);
  put_number(text, header.items);
  put_number(text, std::uint32_t{0});
  return text;
}

[[nodiscard]] inline std::uint64_t block_checksum(std::uint64_t number, std::string_view header,
                                                  std::string_view stored) noexcept {
  Checksum checksum(number);
  checksum.add(header);
  checksum.add(stored);
  return checksum.value();
}

}  // namespace mxkv::cli
