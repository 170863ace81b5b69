#include "server/journal/journal_group.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"
#include "server/journal/hash.hpp"

namespace mxkv::server {
namespace {

constexpr char kZeros[kPageBytes] = {};

std::size_t parts_of(std::uint64_t bytes) noexcept {
  return static_cast<std::size_t>((bytes + kMostPayloadBytes - 1) / kMostPayloadBytes);
}

}  // namespace

void JournalGroup::begin(std::uint64_t epoch) noexcept {
  MXKV_ASSERT(epoch > epoch_, "each group is of a later epoch");
  epoch_ = epoch;
  raw_bytes_ = kCommitBlockBytes;
  records_ = 0;
  parts_ = 0;
  added_.clear();
  pieces_.clear();
}

void JournalGroup::add(RecordBlock& block, runtime::WorkerId worker) {
  MXKV_ASSERT(block.epoch == epoch_, "a group is of one epoch");
  MXKV_ASSERT(block.payload_bytes > 0, "a block has records or marks");
  added_.push_back({&block, worker});
  const std::size_t parts = parts_of(block.apart.bytes);
  parts_ += parts;
  raw_bytes_ += kBlockHeaderBytes + block.payload_bytes + parts * kBlockHeaderBytes + block.apart.bytes;
  records_ += block.records;
}

std::uint64_t JournalGroup::seal(std::uint64_t offset, std::uint64_t seed, std::uint64_t chain,
                                 CommitMark commit) {
  MXKV_ASSERT(epoch_ != 0 && offset % kPageBytes == 0, "a group that was begun goes to the begin of a page");
  seed_ = seed;
  at_ = offset + kCommitBlockBytes;
  chain_ = begin_group_chain(chain, epoch_);
  index_ = 1;
  pieces_.clear();
  headers_.clear();
  headers_.reserve(parts_ * kBlockHeaderBytes);  // pieces point into it
  append({commit_, kCommitBlockBytes});
  for (const Added& added : added_) {
    seal_records(added);
    seal_value(added.block->apart, added.worker);
  }
  MXKV_ASSERT(at_ == offset + raw_bytes_, "a group is as long as its blocks");
  append({kZeros, static_cast<std::size_t>(bytes() - raw_bytes_)});
  commit.group_bytes = bytes();
  commit.blocks = index_ - 1;
  commit.chain = chain_;
  BlockHeader header;
  header.epoch = epoch_;
  header.offset = offset;
  seal_commit(commit_, header, commit, seed_);
  return chain_;
}

void JournalGroup::seal_records(const Added& added) {
  RecordBlock& block = *added.block;
  BlockHeader header;
  header.epoch = epoch_;
  header.offset = at_;
  header.records = block.records;
  header.index = index_;
  header.worker = added.worker.value();
  header.kind = block_kind::records;
  seal_block(block.header(), header, std::string_view{block.payload(), block.payload_bytes}, seed_);
  append({block.header(), kBlockHeaderBytes + std::size_t{block.payload_bytes}});
  link(header);
}

void JournalGroup::seal_value(const ApartValue& value, runtime::WorkerId worker) {
  if (value.owner == nullptr) {
    return;
  }
  value_.clear();
  value.of->pieces(value.owner, value_);
  // Cuts the value where a block is full, also within a piece.
  std::uint64_t left = value.bytes;
  std::size_t first = 0;
  while (left > 0) {
    const std::uint64_t wanted = std::min<std::uint64_t>(left, kMostPayloadBytes);
    std::uint64_t bytes = 0;
    std::size_t last = first;
    for (; bytes < wanted; ++last) {
      MXKV_ASSERT(last < value_.size(), "a value has as many bytes as its record says");
      const std::uint64_t missing = wanted - bytes;
      if (value_[last].size() > missing) {
        const std::string_view whole = value_[last];
        value_[last] = whole.substr(0, missing);
        value_.insert(value_.begin() + static_cast<std::ptrdiff_t>(last) + 1, whole.substr(missing));
      }
      bytes += value_[last].size();
    }
    seal_part(std::span{value_}.subspan(first, last - first), worker);
    left -= wanted;
    first = last;
  }
}

void JournalGroup::seal_part(std::span<const std::string_view> part, runtime::WorkerId worker) {
  BlockHeader header;
  header.epoch = epoch_;
  header.offset = at_;
  header.index = index_;
  header.worker = worker.value();
  header.kind = block_kind::value;
  MXKV_ASSERT(headers_.size() + kBlockHeaderBytes <= headers_.capacity(), "headers of values were counted");
  headers_.resize(headers_.size() + kBlockHeaderBytes);
  char* const out = headers_.data() + headers_.size() - kBlockHeaderBytes;
  seal_block(out, header, part, seed_);
  append({out, kBlockHeaderBytes});
  for (const std::string_view piece : part) {
    append(piece);
  }
  link(header);
}

void JournalGroup::link(const BlockHeader& header) {
  at_ += header.bytes();
  chain_ = chain_on(chain_, header.hash);
  ++index_;
}

void JournalGroup::append(std::string_view bytes) {
  if (!bytes.empty()) {
    pieces_.push_back({const_cast<char*>(bytes.data()), bytes.size()});  // NOLINT: writing takes no const
  }
}

}  // namespace mxkv::server
