// Blocks into items. No byte of a block is used before its checksum has been verified.
#include <zstd.h>

#include <memory>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/transfer/block_file.hpp"
#include "protocol/clients/cli/transfer/block_format.hpp"
#include "protocol/request.hpp"

namespace mxkv::cli {
namespace {

constexpr std::size_t kMostRangeText = std::size_t{64} * 1024;

class BlockReader final : public DumpReader {
 public:
  explicit BlockReader(InputFile& file) : file_(file) {}

  bool next(Item& item) override {
    if (!headed_) {
      take_file_header();
    }
    while (at_ == raw_.size()) {
      if (left_ != 0) {
        wrong("the block has fewer items than its header says");
      }
      whole_ = file_.offset();
      if (ended_ || !take_block()) {
        return false;
      }
    }
    take_record(item);
    if (at_ == raw_.size() && left_ == 0) {
      whole_ = file_.offset();
    }
    return true;
  }
  [[nodiscard]] std::string place() const override {
    return file_.name() + ": offset " + std::to_string(block_offset_);
  }
  [[nodiscard]] std::uint64_t whole_bytes() const override { return whole_; }
  [[nodiscard]] const std::string& range_text() const override { return range_text_; }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw Failure(Outcome::file, place() + ": " + what);
  }

  /// The next `bytes` bytes; fails if the file ends before.
  std::string_view demand(std::size_t bytes) {
    const std::string_view found = file_.peek(bytes);
    if (found.size() < bytes) {
      wrong("the file ends in the middle: it was truncated");
    }
    return found;
  }

  void take_file_header() {
    block_offset_ = 0;
    const std::string_view first = file_.peek(kFileMagic.size());
    if (!kFileMagic.starts_with(first)) {
      throw Failure(Outcome::file, file_.name() + ": is not an export of mxkv-cli, of neither format");
    }
    const std::string_view begin = demand(16);
    if (get_number<std::uint32_t>(begin, 8) != kFormatVersion) {
      wrong("is of version " + std::to_string(get_number<std::uint32_t>(begin, 8)) + ", not 1");
    }
    const std::size_t range_bytes = get_number<std::uint32_t>(begin, 12);
    if (range_bytes > kMostRangeText) {
      wrong("the header is damaged");
    }
    const std::string_view all = demand(16 + range_bytes + 8);
    Checksum checksum;
    checksum.add(all.substr(0, 16 + range_bytes));
    if (get_number<std::uint64_t>(all, 16 + range_bytes) != checksum.value()) {
      wrong("the header is damaged");
    }
    range_text_ = all.substr(16, range_bytes);
    file_.skip(all.size());
    headed_ = true;
    whole_ = file_.offset();
  }

  /// Returns false after the last block.
  bool take_block() {
    block_offset_ = file_.offset();
    const std::string head(demand(kBlockHeaderBytes));
    BlockHeader header;
    const auto kind = get_number<std::uint32_t>(head, 4);
    header.kind = static_cast<BlockKind>(kind);
    header.raw_bytes = get_number<std::uint32_t>(head, 8);
    header.stored_bytes = get_number<std::uint32_t>(head, 12);
    header.items = get_number<std::uint32_t>(head, 16);
    if (!head.starts_with(kBlockMagic) || kind > 2 || header.raw_bytes > kMostBlockBytes ||
        header.stored_bytes > header.raw_bytes) {
      wrong("the block is damaged");
    }
    const std::string_view stored = demand(kBlockHeaderBytes + header.stored_bytes).substr(kBlockHeaderBytes);
    if (get_number<std::uint64_t>(head, 24) !=
        block_checksum(number_, std::string_view(head).substr(0, 24), stored)) {
      wrong("the block is damaged, or is not the one that belongs here");
    }
    ++number_;
    unpack(header, stored);
    file_.skip(kBlockHeaderBytes + header.stored_bytes);
    if (header.kind == BlockKind::last) {
      take_end();
      return false;
    }
    return true;
  }

  void unpack(const BlockHeader& header, std::string_view stored) {
    at_ = 0;
    left_ = header.items;
    if (header.kind != BlockKind::zstd) {
      raw_.assign(stored);
      return;
    }
    raw_.resize(header.raw_bytes);
    const std::size_t got = ::ZSTD_decompress(raw_.data(), raw_.size(), stored.data(), stored.size());
    if (::ZSTD_isError(got) != 0 || got != raw_.size()) {
      wrong("the block cannot be decompressed");
    }
  }

  void take_end() {
    if (raw_.size() != 16 || left_ != 0 || get_number<std::uint64_t>(raw_, 0) != totals_.items ||
        get_number<std::uint64_t>(raw_, 8) != totals_.bytes) {
      wrong("the file has " + std::to_string(totals_.items) +
            " items, but its last block says another number");
    }
    if (!file_.peek(1).empty()) {
      block_offset_ = file_.offset();
      wrong("there are bytes after the end of the export");
    }
    raw_.clear();
    ended_ = true;
  }

  void take_record(Item& item) {
    if (left_ == 0 || raw_.size() - at_ < kRecordHeaderBytes) {
      wrong("the block does not have the number of items that its header says");
    }
    const std::size_t key_bytes = get_number<std::uint16_t>(raw_, at_);
    const std::size_t value_bytes = get_number<std::uint32_t>(raw_, at_ + 2);
    if (key_bytes == 0 || key_bytes > protocol::kMaxKeyBytes ||
        raw_.size() - at_ - kRecordHeaderBytes < key_bytes + value_bytes) {
      wrong("a record is damaged");
    }
    item.flags = get_number<std::uint32_t>(raw_, at_ + 6);
    item.expires = get_number<std::uint64_t>(raw_, at_ + 10);
    item.unique = get_number<std::uint64_t>(raw_, at_ + 18);
    at_ += kRecordHeaderBytes;
    item.key.assign(raw_, at_, key_bytes);
    item.value.assign(raw_, at_ + key_bytes, value_bytes);
    at_ += key_bytes + value_bytes;
    --left_;
    ++totals_.items;
    totals_.bytes += key_bytes + value_bytes;
  }

  InputFile& file_;
  std::string range_text_;
  std::string raw_;
  std::size_t at_ = 0;
  std::uint32_t left_ = 0;  ///< records of the block that were not handed out yet
  std::uint64_t number_ = 0;
  std::uint64_t block_offset_ = 0;
  std::uint64_t whole_ = 0;
  DumpTotals totals_;
  bool headed_ = false;
  bool ended_ = false;
};

}  // namespace

bool begins_as_blocks(std::string_view bytes) noexcept {
  return bytes.starts_with(kFileMagic);
}

std::unique_ptr<DumpReader> open_blocks(InputFile& file) {
  return std::make_unique<BlockReader>(file);
}

}  // namespace mxkv::cli
