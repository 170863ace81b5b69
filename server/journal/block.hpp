// Blocks: a header of 48 bytes and a payload, hashed together. Groups and parts of checkpoints consist of
// blocks.
//
//    0 u32 "MXB1" · 4 u32 payload bytes · 8 u64 hash of all from 16 on · 16 u64 epoch · 24 u32 records
//   28 u16 kind, u16 worker · 32 u32 payload bytes before compression, u32 index in the group
//   40 u64 own offset in the file: reveals a block written to a wrong place
//
// A commit block is the first of its group (index 0) and describes the group. Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "server/journal/format.hpp"

namespace mxkv::server {

enum class block_kind : std::uint16_t {
  records = 1,
  records_zstd = 2,  ///< in checkpoints only
  value = 3,         ///< a value apart, or a part of it
  commit = 4,
  footer = 5,  ///< of a checkpoint's part
};

struct BlockHeader {
  std::uint64_t hash = 0;
  std::uint64_t epoch = 0;
  std::uint64_t offset = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t records = 0;
  std::uint32_t raw_bytes = 0;  ///< of the payload before compression
  std::uint32_t index = 0;      ///< in the group, or in the checkpoint's part
  std::uint16_t worker = 0;     ///< the worker that recorded it
  block_kind kind = block_kind::records;

  /// Header, payload.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return kBlockHeaderBytes + std::uint64_t{payload_bytes};
  }
  friend bool operator==(const BlockHeader&, const BlockHeader&) = default;
};

/// Writes a header of kBlockHeaderBytes for a payload, which may be anywhere and in any number of pieces.
/// Sets payload_bytes and hash of `header`; the caller sets the other fields. raw_bytes of 0 becomes
/// payload_bytes.
void seal_block(char* out, BlockHeader& header, std::span<const std::string_view> pieces,
                std::uint64_t seed) noexcept;
void seal_block(char* out, BlockHeader& header, std::string_view payload, std::uint64_t seed) noexcept;

struct BlockView {
  BlockHeader header;
  std::string_view payload;
};

/// Reads the block at `offset` of a file. Returns the error; null: none. `base`: the offset in the file at which
/// `file` begins, if it is a part of a file.
[[nodiscard]] const char* read_block(std::string_view file, std::uint64_t offset, std::uint64_t seed,
                                     BlockView& block, std::uint64_t base = 0) noexcept;

/// The same without checking the hash, for a block that was read before.
[[nodiscard]] const char* look_at_block(std::string_view file, std::uint64_t offset,
                                        BlockView& block) noexcept;

/// The payload of a commit block, 48 bytes.
struct CommitMark {
  static constexpr std::size_t kBytes = 48;

  std::uint64_t group_bytes = 0;  ///< from the commit block to the end of the padding
  std::uint32_t blocks = 0;       ///< that follow the commit block
  std::uint64_t durable = 0;      ///< greatest epoch known to be on disk before this was written
  std::uint64_t ceiling = 0;      ///< no greater order was minted before this was written
  std::uint64_t unix_us = 0;      ///< wall clock
  std::int32_t wall_ahead_s =
      0;                    ///< by which it is ahead of the steady time, which records use; versions without
                            ///< the field write 0
  std::uint64_t chain = 0;  ///< the chain of the group before, with this group's links (see group_chain)

  friend bool operator==(const CommitMark&, const CommitMark&) = default;
};

/// Bytes of a commit block.
inline constexpr std::size_t kCommitBlockBytes = kBlockHeaderBytes + CommitMark::kBytes;

/// Writes a whole commit block of kCommitBlockBytes. Sets what seal_block() sets, kind and index.
void seal_commit(char* out, BlockHeader& header, const CommitMark& commit, std::uint64_t seed) noexcept;

/// Reads the commit block at `offset`. Returns the error; null: none. `base`: see read_block().
[[nodiscard]] const char* read_commit(std::string_view file, std::uint64_t offset, std::uint64_t seed,
                                      BlockHeader& header, CommitMark& commit,
                                      std::uint64_t base = 0) noexcept;

/// The beginning of a group's chain. chain_on() continues it with the hash of each block behind the commit
/// block, in order.
[[nodiscard]] std::uint64_t begin_group_chain(std::uint64_t chain_before, std::uint64_t epoch) noexcept;

}  // namespace mxkv::server
