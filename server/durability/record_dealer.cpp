#include "server/durability/record_dealer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "server/journal/group_reader.hpp"

namespace mxkv::server {

namespace {

std::size_t before_key(const PutRecord& put) noexcept {
  return encoded_bytes(put) - put.key.size() - put.value.size();
}

}  // namespace

/// False: a record's fields are impossible.
struct RecordDealer::Visitor {
  RecordDealer& dealer;

  bool operator()(const PutRecord& put) const {
    return dealer.add(record_type::put, put.order, put.key, put.key.data() - before_key(put));
  }
  bool operator()(const GoneRecord& gone) const {
    return dealer.add(record_type::gone, gone.order, gone.key, gone.key.data() - kRecordHeaderBytes);
  }
  bool operator()(const TouchRecord& touch) const {
    const std::size_t before = encoded_bytes(touch) - touch.key.size();
    return dealer.add(record_type::touch, touch.order, touch.key, touch.key.data() - before);
  }
  template <class R>
  bool operator()(const R& of_many) const {
    dealer.operations_.add(of_many);
    return true;
  }
};

bool RecordDealer::add(record_type type, std::uint64_t order, std::string_view key, const char* record) {
  // A redundant field shifts the beginning of the record.
  if (key.empty() || key.size() > index::kMaxKeyBytes ||
      KeyRecord::of(key, 0, order, type, record).key().data() != key.data() ||
      static_cast<record_type>(*record) != type) {
    return false;
  }
  const std::size_t range = ranges_->of(key);
  MXKV_DCHECK(range < records_.size(), "each key is in a range");
  records_[range].push_back(KeyRecord::of(key, ranges_->shared(range), order, type, record));
  greatest_order_ = std::max(greatest_order_, order);
  return true;
}

bool RecordDealer::deal(const SegmentScan& segment, const ScannedGroup& group) {
  GroupReader reader{segment.bytes, group};
  const char* wrong = nullptr;
  while (const auto entry = reader.next()) {
    ++count_;
    if (!std::visit(Visitor{*this}, entry->record)) {
      wrong = "a record of a type that this version does not write";
      break;
    }
  }
  wrong = wrong != nullptr ? wrong : reader.wrong();
  if (wrong == nullptr) {
    return true;
  }
  error_ = fmt::format("{}: damaged at byte {} (epoch {}): {}", segment.path,
                       reader.wrong() != nullptr ? reader.position() : group.begin, group.epoch, wrong);
  return false;
}

void sample_group(const SegmentScan& segment, const ScannedGroup& group,
                  std::vector<KeyRanges::Sample>& samples) {
  constexpr std::uint64_t kMost = 8;
  MXKV_ASSERT(group.end <= segment.bytes.size(), "a group that was scanned lies in its segment");
  std::uint64_t at = group.begin + kCommitBlockBytes;
  for (std::uint32_t i = 0; i < group.blocks; ++i) {
    const char* const header = segment.bytes.data() + at;
    const std::string_view payload =
        segment.bytes.substr(at + kBlockHeaderBytes, load_number<std::uint32_t>(header + 4));
    const std::uint64_t records = load_number<std::uint32_t>(header + 24);
    if (static_cast<block_kind>(load_number<std::uint16_t>(header + 28)) == block_kind::records) {
      RecordReader reader{payload};
      const std::uint64_t taken = std::min(records, kMost);
      for (std::uint64_t n = 0; n < taken; ++n) {
        const auto record = reader.next();
        const auto* const put = record ? std::get_if<PutRecord>(&*record) : nullptr;
        if (put != nullptr && put->apart_bytes == 0) {
          samples.emplace_back(put->key, (records + taken - 1) / taken);
        }
      }
    }
    at += kBlockHeaderBytes + payload.size();
  }
}

}  // namespace mxkv::server
