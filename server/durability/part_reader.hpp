// Reads a part of a checkpoint: the places of its blocks, and the items of a range of keys in order.
//
// The headers of the blocks and the footer, which has a hash over the headers, describe the part. A block is
// hashed when its items are read; so all threads that read parts also validate them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "server/durability/compression.hpp"
#include "server/durability/replay.hpp"
#include "server/journal/checkpoint_header.hpp"
#include "server/journal/disk.hpp"

namespace mxkv::server {

/// A block of puts.
struct PartBlock {
  std::uint64_t offset = 0;
  std::uint32_t records = 0;
  std::string first_key;
};

/// Thread-safety: after open() any thread.
class Part {
 public:
  /// Maps a part and finds its blocks; does not validate their payloads. The error has path and byte.
  [[nodiscard]] static runtime::Result<Part> open(Disk& disk, const std::string& path,
                                                  const DirectoryId& directory, std::uint64_t begun,
                                                  std::uint32_t number);

  [[nodiscard]] const CheckpointHeader& header() const noexcept { return header_; }
  [[nodiscard]] const CheckpointFooter& footer() const noexcept { return footer_; }
  [[nodiscard]] const std::vector<PartBlock>& blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_->bytes(); }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// "checkpoint/000000000000032c/part-0.mxc: damaged at byte 4096: what".
  [[nodiscard]] std::string damage(std::uint64_t offset, std::string_view what) const;

 private:
  [[nodiscard]] std::string find_blocks();
  [[nodiscard]] std::string add_block(Decompressor& decompressor, std::uint64_t offset,
                                      std::string_view payload, block_kind kind, std::uint32_t records);

  std::string path_;
  std::unique_ptr<DiskBytes> bytes_;
  CheckpointHeader header_;
  CheckpointFooter footer_;
  std::uint64_t seed_ = 0;
  std::vector<PartBlock> blocks_;
};

/// The items of a checkpoint's parts with keys in [from, to), in order. Thread-safety: one thread.
class PartItems final : public StoredItems {
 public:
  /// `to` empty: to the end. The parts are in key order, and outlive this.
  PartItems(std::span<const Part> parts, std::string_view from, std::string_view to);

  [[nodiscard]] const StoredItem* at() const noexcept override { return ended_ ? nullptr : &item_; }
  void next() override;
  /// Why the items ended too early; empty: they did not.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

 private:
  bool open_block();
  bool read_item();
  void fail(std::string_view what);

  std::span<const Part> parts_;
  std::string to_;
  std::size_t part_ = 0;
  std::size_t block_ = 0;  ///< the next block
  Decompressor decompressor_;
  std::string raw_;
  std::string_view records_;      ///< of the current block, not yet read
  const char* behind_ = nullptr;  ///< the end of the current block in the file
  std::string_view last_key_;     ///< of the item before, in the same block
  StoredItem item_;
  std::string error_;
  bool ended_ = false;
};

/// Reads a whole part as recovery would. Returns the number of items; the error is one line.
[[nodiscard]] runtime::Result<std::uint64_t> verify_part(const Part& part);

}  // namespace mxkv::server
