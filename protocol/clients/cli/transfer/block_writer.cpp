// Items into blocks.
#include <zstd.h>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/transfer/block_file.hpp"
#include "protocol/clients/cli/transfer/block_format.hpp"

namespace mxkv::cli {
namespace {

class BlockWriter final : public DumpWriter {
 public:
  BlockWriter(OutputFile& file, bool compressed, std::uint64_t number)
      : file_(file), compressed_(compressed), number_(number) {}

  void add(const Item& item) override {
    const std::size_t bytes = kRecordHeaderBytes + item.key.size() + item.value.size();
    if (bytes > kMostBlockBytes) {
      throw Failure(Outcome::file, "a value is too large for this format");
    }
    if (!raw_.empty() && raw_.size() + bytes > kBlockBytes) {
      put_block();
    }
    put_number(raw_, static_cast<std::uint16_t>(item.key.size()));
    put_number(raw_, static_cast<std::uint32_t>(item.value.size()));
    put_number(raw_, item.flags);
    put_number(raw_, item.expires);
    put_number(raw_, item.unique);
    raw_ += item.key;
    raw_ += item.value;
    ++items_;
  }
  void flush() override {
    put_block();
    file_.flush();
  }
  void finish(const DumpTotals& totals) override {
    put_block();
    std::string text;
    put_number(text, totals.items);
    put_number(text, totals.bytes);
    put({.kind = BlockKind::last,
         .raw_bytes = static_cast<std::uint32_t>(text.size()),
         .stored_bytes = static_cast<std::uint32_t>(text.size())},
        text);
    file_.flush();
  }

 private:
  void put_block() {
    if (raw_.empty()) {
      return;
    }
    BlockHeader header = {.raw_bytes = static_cast<std::uint32_t>(raw_.size()),
                          .stored_bytes = static_cast<std::uint32_t>(raw_.size()),
                          .items = items_};
    std::string_view stored = raw_;
    if (compressed_) {
      stored_.resize(::ZSTD_compressBound(raw_.size()));
      const std::size_t size = ::ZSTD_compress(stored_.data(), stored_.size(), raw_.data(), raw_.size(), 1);
      if (::ZSTD_isError(size) == 0 && size < raw_.size()) {
        header.kind = BlockKind::zstd;
        header.stored_bytes = static_cast<std::uint32_t>(size);
        stored = std::string_view(stored_).substr(0, size);
      }
    }
    put(header, stored);
    raw_.clear();
    items_ = 0;
  }

  void put(const BlockHeader& header, std::string_view stored) {
    std::string text = block_header_text(header);
    put_number(text, block_checksum(number_, text, stored));
    ++number_;
    file_.write(text);
    file_.write(stored);
  }

  OutputFile& file_;
  bool compressed_;
  std::uint64_t number_;
  std::string raw_;
  std::string stored_;
  std::uint32_t items_ = 0;
};

}  // namespace

std::unique_ptr<DumpWriter> begin_blocks(OutputFile& file, const std::string& range_text, bool compressed) {
  std::string text(kFileMagic);
  put_number(text, kFormatVersion);
  put_number(text, static_cast<std::uint32_t>(range_text.size()));
  text += range_text;
  Checksum checksum;
  checksum.add(text);
  put_number(text, checksum.value());
  file.write(text);
  return std::make_unique<BlockWriter>(file, compressed, 0);
}

std::unique_ptr<DumpWriter> resume_blocks(OutputFile& file, InputFile& before, bool compressed) {
  // The caller has verified the blocks; only their number must be found.
  const auto range_bytes = get_number<std::uint32_t>(before.peek(16), 12);
  before.skip(16 + std::size_t{range_bytes} + 8);
  std::uint64_t blocks = 0;
  for (std::string_view header = before.peek(kBlockHeaderBytes); header.size() == kBlockHeaderBytes;
       header = before.peek(kBlockHeaderBytes)) {
    const std::size_t bytes = kBlockHeaderBytes + std::size_t{get_number<std::uint32_t>(header, 12)};
    static_cast<void>(before.peek(bytes));
    before.skip(bytes);
    ++blocks;
  }
  return std::make_unique<BlockWriter>(file, compressed, blocks);
}

}  // namespace mxkv::cli
