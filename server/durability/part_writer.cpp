#include "server/durability/part_writer.hpp"

#include <array>
#include <limits>
#include <vector>

#include "server/journal/hash.hpp"
#include "server/journal/segment_files.hpp"

namespace mxkv::server {

int PartWriter::begin(Disk& disk, const std::string& path, const CheckpointHeader& header) {
  MXKV_ASSERT(file_ == nullptr && header.part < header.parts,
              "a part is begun once, and is one of its checkpoint");
  if (const int error = disk.create(path, file_); error != 0) {
    return error;
  }
  if (header.compressed) {
    compressor_ = std::make_unique<Compressor>();
  }
  seed_ = checkpoint_seed(header.directory, header.begun, header.part);
  epoch_ = header.begun;
  chain_ = begin_group_chain(0, header.begun);
  std::array<char, kPageBytes> page{};
  write_checkpoint_header(page.data(), header);
  iovec piece{page.data(), page.size()};
  return append({&piece, 1});
}

int PartWriter::add(std::string_view puts, std::uint32_t records, std::string_view first,
                    std::string_view last) {
  MXKV_ASSERT(file_ != nullptr && !puts.empty(), "a block has records, and a file");
  MXKV_ASSERT(records > 0 && first <= last && (items_ == 0 || last_ < first), "a part's keys come in order");
  if (items_ == 0) {
    first_ = first;
  }
  last_ = last;
  items_ += records;
  const bool smaller = compressor_ != nullptr && compressor_->compress(puts, compressed_);
  const std::string_view payload = smaller ? std::string_view{compressed_} : puts;
  return write(smaller ? block_kind::records_zstd : block_kind::records, {&payload, 1}, records, puts.size());
}

int PartWriter::add_value(std::span<const std::string_view> pieces) {
  MXKV_ASSERT(items_ > 0, "a value follows its put");
  while (!pieces.empty()) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < pieces.size() && bytes + pieces[count].size() <= kMostPayloadBytes) {
      bytes += pieces[count++].size();
    }
    MXKV_ASSERT(count > 0, "a piece of a value fits a block");
    if (const int error = write(block_kind::value, pieces.first(count), 0, bytes); error != 0) {
      return error;
    }
    pieces = pieces.subspan(count);
  }
  return 0;
}

int PartWriter::end() {
  MXKV_ASSERT(file_ != nullptr && first_ <= last_, "a part that was begun ends");
  const std::string footer = footer_payload({.items = items_,
                                             .bytes = offset_,
                                             .chain = chain_,
                                             .blocks = blocks_,
                                             .first = first_,
                                             .last = last_});
  const std::string_view payload = footer;
  const int error = write(block_kind::footer, {&payload, 1}, 0, payload.size());
  return error != 0 ? error : file_->sync();
}

int PartWriter::write(block_kind kind, std::span<const std::string_view> pieces, std::uint32_t records,
                      std::size_t raw_bytes) {
  MXKV_ASSERT(raw_bytes <= std::numeric_limits<std::uint32_t>::max(), "a block's length fits its header");
  std::array<char, kBlockHeaderBytes> head{};
  BlockHeader header;
  header.epoch = epoch_;
  header.offset = offset_;
  header.records = records;
  header.raw_bytes = static_cast<std::uint32_t>(raw_bytes);
  header.index = blocks_++;
  header.kind = kind;
  seal_block(head.data(), header, pieces, seed_);
  chain_ = chain_on(chain_, header.hash);
  std::vector<iovec> all;
  all.reserve(pieces.size() + 1);
  all.push_back({head.data(), head.size()});
  for (const std::string_view piece : pieces) {
    all.push_back({const_cast<char*>(piece.data()), piece.size()});
  }
  return append(all);
}

int PartWriter::append(std::span<const iovec> pieces) {
  const int error = write_all(*file_, pieces, offset_);
  for (const iovec& piece : pieces) {
    offset_ += piece.iov_len;
  }
  return error;
}

}  // namespace mxkv::server
