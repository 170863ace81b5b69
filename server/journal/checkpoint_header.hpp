// Header page and footer of a checkpoint's part: a file of puts in key order.
//
//     0 "MXKVCKP1" · 8 to 31 as in segment_header.hpp · 32 u64 epoch begun · 40 u32 part, u32 parts
//    48 u32 incarnation, u16 flags (1: zstd), u16 hash · 56 u64 created, us
//    64 u8 from bytes, u8 to bytes, u8 has no end · 72 from · 328 to · 4088 u64 hash of the page
//
// Blocks of puts follow without padding; their epoch is the checkpoint's, their index counts from 0.
// Compressed blocks have a kind of their own. The last block is the footer:
//
//   u64 items · u64 bytes before it · u64 chain · u32 blocks · u8 first bytes, u8 last bytes, u16 0
//   first key, last key
//
// The chain begins with begin_group_chain(0, epoch begun) and continues with each block's hash. A part is
// valid only if the manifest names it. Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "server/journal/block.hpp"
#include "server/journal/segment_header.hpp"

namespace mxkv::server {

struct CheckpointHeader {
  DirectoryId directory{};
  std::uint64_t begun = 0;  ///< epoch: changes with a smaller label are in the checkpoint
  std::uint64_t created_us = 0;
  std::uint32_t part = 0;  ///< from 0 on
  std::uint32_t parts = 1;
  std::uint32_t incarnation = 0;
  bool compressed = false;
  bool has_no_end = false;
  std::string from;  ///< the first key that may be in the part
  std::string to;    ///< the first key behind the part, unless has_no_end

  friend bool operator==(const CheckpointHeader&, const CheckpointHeader&) = default;
};

/// Fills a page of kPageBytes. Keys have at most kMostKeyBytes.
void write_checkpoint_header(char* page, const CheckpointHeader& header) noexcept;
/// The error has no path; it names both formats if the file is too new.
[[nodiscard]] runtime::Result<CheckpointHeader> read_checkpoint_header(std::string_view file);

/// The hash seed for the blocks of a part.
[[nodiscard]] std::uint64_t checkpoint_seed(const DirectoryId& directory, std::uint64_t begun,
                                            std::uint32_t part) noexcept;

struct CheckpointFooter {
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;  ///< of the file up to the footer's block
  std::uint64_t chain = 0;
  std::uint32_t blocks = 0;  ///< without the footer
  std::string_view first;    ///< keys; both empty: the part has no items
  std::string_view last;

  friend bool operator==(const CheckpointFooter&, const CheckpointFooter&) = default;
};

/// The payload of the footer's block.
[[nodiscard]] std::string footer_payload(const CheckpointFooter& footer);
/// The footer's keys refer to the payload. Returns the error; null: none.
[[nodiscard]] const char* read_footer(std::string_view payload, CheckpointFooter& footer) noexcept;

}  // namespace mxkv::server
