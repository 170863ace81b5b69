// The block format of exports. Numbers are little-endian.
//
//   file    "MXKVDUMP" | version u32 = 1 | bytes of the range's text u32 | text | checksum u64 of all before it
//   block   "MXKB" | kind u32 | raw bytes u32 | stored bytes u32 | items u32 | 0 u32 | checksum u64 | stored bytes
//           kind 0: uncompressed; 1: a zstd frame; 2: the last block: u64 items, u64 bytes of keys and values
//           checksum: XXH3, seeded with the block's number, of the 24 bytes before it and the stored bytes
//   record  key bytes u16 | value bytes u32 | flags u32 | expires u64 | unique u64 | key | value
//
// A block that was moved, left out or doubled has the wrong number; a truncated file has no last block.
#pragma once

#include <memory>

#include "protocol/clients/cli/transfer/dump.hpp"

namespace mxkv::cli {

[[nodiscard]] std::unique_ptr<DumpWriter> begin_blocks(OutputFile& file, const std::string& range_text,
                                                       bool compressed);
/// `before` holds complete blocks.
[[nodiscard]] std::unique_ptr<DumpWriter> resume_blocks(OutputFile& file, InputFile& before, bool compressed);
[[nodiscard]] std::unique_ptr<DumpReader> open_blocks(InputFile& file);
[[nodiscard]] bool begins_as_blocks(std::string_view bytes) noexcept;

}  // namespace mxkv::cli
