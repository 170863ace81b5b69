#include "server/journal/group_reader.hpp"

#include "runtime/base/assert.hpp"

namespace mxkv::server {

GroupReader::GroupReader(std::string_view file, const ScannedGroup& group) noexcept
    : file_(file.substr(0, group.end)), at_(group.begin + kCommitBlockBytes), blocks_left_(group.blocks) {
  MXKV_ASSERT(at_ <= group.end, "a group that was scanned has its commit block");
}

std::optional<GroupReader::Entry> GroupReader::next() {
  while (wrong_ == nullptr) {
    if (records_left_ > 0) {
      if (auto record = records_.next()) {
        --records_left_;
        const std::uint32_t batch = marks_.open ? marks_.batches : 0;
        const auto* const put = std::get_if<PutRecord>(&*record);
        const std::uint64_t apart = put != nullptr ? put->apart_bytes : 0;
        apart_.clear();
        if (apart != 0 && !take_apart(apart)) {
          return std::nullopt;
        }
        return Entry{*record, apart_, worker_, batch};
      }
      fail(payload_at_ + records_.position(),
           records_.wrong() != nullptr ? records_.wrong() : "a block has fewer records than it says");
    } else if (!end_block() || !next_block()) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool GroupReader::end_block() noexcept {
  if (!records_.pass_marks()) {
    return fail(payload_at_ + records_.position(), records_.wrong());
  }
  return records_.at_end() ||
         fail(payload_at_ + records_.position(), "a block has more records than it says");
}

bool GroupReader::next_block() noexcept {
  if (blocks_left_ == 0) {
    return marks_.open && fail(at_, "a batch does not end");
  }
  BlockView block;
  if (const char* const wrong = look_at_block(file_, at_, block)) {
    return fail(at_, wrong);
  }
  if (block.header.kind != block_kind::records) {
    return fail(at_, "a value belongs to no record");
  }
  if (marks_.open && block.header.worker != worker_) {
    return fail(at_, "a batch does not end");
  }
  --blocks_left_;
  payload_at_ = at_ + kBlockHeaderBytes;
  at_ += block.header.bytes();
  MXKV_ASSERT(at_ <= file_.size(), "a block that was looked at is within its group");
  records_ = RecordReader(block.payload, &marks_);
  records_left_ = block.header.records;
  worker_ = block.header.worker;
  return true;
}

bool GroupReader::take_apart(std::uint64_t bytes) {
  const std::uint64_t record_ends = payload_at_ + records_.position();
  if (records_left_ != 0) {
    return fail(record_ends, "a record whose value is apart is not the last of its block");
  }
  while (bytes > 0) {
    BlockView block;
    if (blocks_left_ == 0 || look_at_block(file_, at_, block) != nullptr ||
        block.header.kind != block_kind::value || block.payload.empty() || block.payload.size() > bytes) {
      return fail(at_, "a value apart is not as long as its record says");
    }
    --blocks_left_;
    at_ += block.header.bytes();
    bytes -= block.payload.size();
    apart_.push_back(block.payload);
  }
  return true;
}

bool GroupReader::fail(std::uint64_t at, const char* wrong) noexcept {
  position_ = at;
  wrong_ = wrong;
  return false;
}

}  // namespace mxkv::server
