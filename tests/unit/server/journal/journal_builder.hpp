// Writes segments for tests, as the journal's writer does: groups of blocks of records, with values apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/commit/record.hpp"
#include "server/journal/block.hpp"
#include "server/journal/hash.hpp"
#include "server/journal/segment_header.hpp"

namespace mxkv::server::test {

/// One worker's records; the value of the last record may be apart, in pieces.
struct BuiltBlock {
  std::vector<Record> records;
  std::vector<std::string> apart{};
};

inline std::string payload_of(const std::vector<Record>& records) {
  std::string payload;
  for (const Record& record : records) {
    std::visit(
        [&payload](const auto& typed) {
          const std::size_t before = payload.size();
          payload.resize(before + encoded_bytes(typed));
          write_record(payload.data() + before, typed);
        },
        record);
  }
  return payload;
}

inline std::string mark_text(batch_mark mark) {
  std::string text(kRecordHeaderBytes, '\0');
  write_mark(text.data(), mark);
  return text;
}
/// A payload of records between the marks of a batch.
inline std::string batch_of(const std::vector<Record>& records) {
  return mark_text(batch_mark::begin) + payload_of(records) + mark_text(batch_mark::end);
}

class SegmentBuilder {
 public:
  explicit SegmentBuilder(const SegmentHeader& header)
      : seed_(segment_seed(header.directory, header.number)),
        epoch_(header.first_epoch),
        chain_(header.chain_before),
        bytes_(kPageBytes, '\0') {
    write_segment_header(bytes_.data(), header);
  }

  struct Payload {
    block_kind kind;
    std::string_view bytes;
    std::uint32_t records;
    std::uint16_t worker = 0;
  };

  /// A group of the next epoch. Returns where it begins.
  std::uint64_t add(const std::vector<BuiltBlock>& blocks, std::uint64_t durable) {
    std::vector<std::string> kept;
    kept.reserve(blocks.size());
    std::vector<Payload> payloads;
    for (const BuiltBlock& block : blocks) {
      payloads.push_back({block_kind::records, kept.emplace_back(payload_of(block.records)),
                          static_cast<std::uint32_t>(block.records.size())});
      for (const std::string& piece : block.apart) {
        payloads.push_back({block_kind::value, piece, 0});
      }
    }
    return add_payloads(payloads, durable);
  }

  /// The same for payloads that need not be records.
  std::uint64_t add_payloads(const std::vector<Payload>& payloads, std::uint64_t durable = 0) {
    const std::uint64_t begin = bytes_.size();
    bytes_.resize(begin + kCommitBlockBytes);
    chain_ = begin_group_chain(chain_, epoch_);
    std::uint32_t index = 0;
    for (const Payload& payload : payloads) {
      add_block(payload, ++index);
    }
    bytes_.resize(round_up_to_page(bytes_.size()));
    CommitMark mark{.group_bytes = bytes_.size() - begin, .blocks = index, .durable = durable};
    mark.ceiling = 1000 * epoch_;
    mark.unix_us = 10'000 * epoch_;
    mark.chain = chain_;
    BlockHeader header{.epoch = epoch_, .offset = begin};
    seal_commit(bytes_.data() + begin, header, mark, seed_);
    ++epoch_;
    return begin;
  }

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string& bytes() noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t chain() const noexcept { return chain_; }
  [[nodiscard]] std::uint64_t next_epoch() const noexcept { return epoch_; }

 private:
  void add_block(const Payload& payload, std::uint32_t index) {
    BlockHeader header{.epoch = epoch_,
                       .offset = bytes_.size(),
                       .records = payload.records,
                       .index = index,
                       .worker = payload.worker,
                       .kind = payload.kind};
    char sealed[kBlockHeaderBytes];
    seal_block(sealed, header, payload.bytes, seed_);
    chain_ = chain_on(chain_, header.hash);
    bytes_.append(sealed, sizeof sealed).append(payload.bytes);
  }

  std::uint64_t seed_;
  std::uint64_t epoch_;
  std::uint64_t chain_;
  std::string bytes_;
};

inline DirectoryId test_directory() {
  DirectoryId id;
  id.fill(0x5A);
  return id;
}

inline SegmentHeader header_of(std::uint64_t number, std::uint64_t first_epoch,
                               std::uint64_t chain_before = 0) {
  SegmentHeader header;
  header.directory = test_directory();
  header.number = number;
  header.first_epoch = first_epoch;
  header.chain_before = chain_before;
  return header;
}

}  // namespace mxkv::server::test
