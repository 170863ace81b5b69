// The first page of a journal segment, and of a checkpoint's part.
//
//     0 "MXKVJRN1" · 8 u16 format, u16 oldest reader · 12 u32 4096 · 16 u8[16] directory id
//    32 u64 segment number (never reused) · 40 u64 first epoch · 48 u32 incarnation, u16 stream, u16 hash
//    56 u64 created, us · 64 u64 chain of the segment before · 72 u32 flags · 4088 u64 hash of the page
//
// checkpoint_header.hpp defines the other. Both are hashed with a seed of zero: a page is read before its
// file is known. Thread-safety: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "server/journal/format.hpp"

namespace mxkv::server {

/// Drawn at random when a directory is made.
using DirectoryId = std::array<std::uint8_t, 16>;

struct SegmentHeader {
  DirectoryId directory{};
  std::uint64_t number = 0;
  std::uint64_t first_epoch = 0;
  std::uint64_t created_us = 0;
  std::uint64_t chain_before = 0;  ///< chain of the segment before, at its last group; 0: there was none
  std::uint32_t incarnation = 0;
  std::uint16_t stream = 0;
  std::uint16_t format = kFormatVersion;
  /// The segment before ended in a failed write: its epochs up to first_epoch are lost.
  bool after_gap = false;

  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

/// Fills a page of kPageBytes.
void write_segment_header(char* page, const SegmentHeader& header) noexcept;

/// Reads the first page of a file. The error has no path; it names both formats if the file is too new.
[[nodiscard]] runtime::Result<SegmentHeader> read_segment_header(std::string_view file);

/// Whether a file is a segment of a format that only newer readers understand.
[[nodiscard]] bool is_newer_segment(std::string_view file) noexcept;

/// The hash seed for the blocks of a segment.
[[nodiscard]] std::uint64_t segment_seed(const DirectoryId& directory, std::uint64_t number) noexcept;

/// "0000000000000011.mxj", and the number in such a name; 0: it is another name.
[[nodiscard]] std::string segment_name(std::uint64_t number);
[[nodiscard]] std::uint64_t segment_number(std::string_view name) noexcept;

// For header pages of any file.

/// Stores the hash at the page's end.
void seal_page(char* page) noexcept;
/// The error in a page of this magic, by its hash and its format number; empty: none. `what`: "journal
/// segment".
[[nodiscard]] std::string page_complaint(std::string_view file, std::string_view magic,
                                         std::string_view what);
/// Whether a page is whole, and of a format that only newer readers understand.
[[nodiscard]] bool is_newer_page(std::string_view file, std::string_view magic) noexcept;
/// Writes magic, format, page size and directory.
void begin_page(char* page, std::string_view magic, const DirectoryId& directory,
                std::uint16_t format) noexcept;

}  // namespace mxkv::server
