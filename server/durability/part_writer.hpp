// Writes one part of a checkpoint: header page, blocks of puts in key order, footer
// (server/journal/checkpoint_header.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/durability/compression.hpp"
#include "server/journal/checkpoint_header.hpp"
#include "server/journal/disk.hpp"

namespace mxkv::server {

/// Thread-safety: one thread. Functions return 0 or an errno value; after an error the part is unusable.
class PartWriter {
 public:
  /// Creates the file and writes its first page. Large values are written from the store's memory.
  [[nodiscard]] int begin(Disk& disk, const std::string& path, const CheckpointHeader& header);

  /// Adds a block of `records` puts, in key order and above all before. `first`, `last`: keys of the first
  /// and last put.
  [[nodiscard]] int add(std::string_view puts, std::uint32_t records, std::string_view first,
                        std::string_view last);
  /// Adds the value apart of the last put of the block before.
  [[nodiscard]] int add_value(std::span<const std::string_view> pieces);
  /// Writes the footer, and brings the file to disk.
  [[nodiscard]] int end();

  [[nodiscard]] std::uint64_t items() const noexcept { return items_; }
  /// Bytes of the file so far.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return offset_; }

 private:
  [[nodiscard]] int write(block_kind kind, std::span<const std::string_view> pieces, std::uint32_t records,
                          std::size_t raw_bytes);
  [[nodiscard]] int append(std::span<const iovec> pieces);

  std::unique_ptr<DiskFile> file_;
  std::unique_ptr<Compressor> compressor_;  ///< null: blocks are not compressed
  std::uint64_t seed_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t chain_ = 0;
  std::uint64_t items_ = 0;
  std::uint32_t blocks_ = 0;
  std::string first_;
  std::string last_;
  std::string compressed_;
};

}  // namespace mxkv::server
