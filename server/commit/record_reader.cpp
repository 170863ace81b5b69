#include "server/commit/record_reader.hpp"

#include <algorithm>

namespace mxkv::server {

struct RecordReader::Header {
  record_type type;
  std::uint8_t bits;
  std::uint8_t a;
  std::uint8_t b;
  std::uint64_t order;
};

std::optional<Record> RecordReader::next() noexcept {
  if (wrong_ != nullptr || !pass_marks() || position_ == payload_.size()) {
    return std::nullopt;
  }
  begin_ = position_;
  left_ = payload_.substr(position_);
  short_ = false;
  if (left_.size() < kRecordHeaderBytes) {
    return fail("a record is cut off");
  }
  const Header header{static_cast<record_type>(left_[0]), static_cast<std::uint8_t>(left_[1]),
                      static_cast<std::uint8_t>(left_[2]), static_cast<std::uint8_t>(left_[3]),
                      load_number<std::uint64_t>(left_.data() + 4)};
  left_.remove_prefix(kRecordHeaderBytes);
  std::optional<Record> record = read(header);
  if (short_) {
    return fail("a record is cut off");
  }
  if (record) {
    position_ = payload_.size() - left_.size();
  }
  return record;
}

bool RecordReader::pass_marks() noexcept {
  for (; position_ < payload_.size(); position_ += kRecordHeaderBytes) {
    const auto mark = static_cast<batch_mark>(payload_[position_]);
    if (mark != batch_mark::begin && mark != batch_mark::end) [[likely]] {
      return true;
    }
    const std::string_view rest = payload_.substr(position_, kRecordHeaderBytes).substr(1);
    if (rest.size() < kRecordHeaderBytes - 1) {
      wrong_ = "a record is cut off";
    } else if (std::ranges::any_of(rest, [](char byte) { return byte != 0; })) {
      wrong_ = "a mark of a batch has unknown bits";
    } else if (marks_ != nullptr && marks_->open == (mark == batch_mark::begin)) {
      wrong_ = marks_->open ? "a batch begins within another" : "a batch ends that did not begin";
    }
    if (wrong_ != nullptr) {
      return false;
    }
    if (marks_ != nullptr) {
      marks_->open = !marks_->open;
      marks_->batches += marks_->open ? 1 : 0;
    }
  }
  return true;
}

std::optional<Record> RecordReader::read(const Header& header) noexcept {
  if (header.type == record_type::put) [[likely]] {
    return read_put(header);
  }
  if (header.order > kMostOrder) {
    return fail("a record's order has more than 53 bits");
  }
  switch (header.type) {
    case record_type::gone:
      if (header.bits > static_cast<std::uint8_t>(gone_reason::evicted) || header.b != 0) {
        return fail("a record has unknown bits");
      }
      return GoneRecord{header.order, take(header.a), static_cast<gone_reason>(header.bits)};
    case record_type::touch: {
      if (header.b > (kMostAccess >> 8U | record_bits::kTouchReads)) {
        return fail("a record has unknown bits");
      }
      const auto expiry = take_number<std::uint32_t>();
      return TouchRecord{header.order, take(header.a), expiry, access_of_touch(header.bits, header.b)};
    }
    case record_type::range_gone:
    case record_type::range_touch:
      return read_range(header);
    case record_type::flush:
      return FlushRecord{header.order};
    case record_type::flush_at: {
      const auto point = take_number<std::uint64_t>();
      return FlushAtRecord{header.order, point, take_number<std::uint64_t>()};
    }
    case record_type::put:
      break;
  }
  return fail("a record is of an unknown type");
}

std::optional<Record> RecordReader::read_put(const Header& header) noexcept {
  if ((header.bits & ~record_bits::kOfPut) != 0) {
    return fail("a record has unknown bits");
  }
  PutRecord put;
  put.order = header.order & kMostOrder;
  put.access = access_of_put(header.bits, header.order);
  put.marks = header.b;
  std::uint64_t inside = 0;
  if ((header.bits & record_bits::kApart) != 0) {
    put.apart_bytes = take_number<std::uint64_t>();
  } else {
    inside = take_number<std::uint32_t>();
  }
  if ((header.bits & record_bits::kFlags) != 0) {
    put.flags = take_number<std::uint32_t>();
  }
  if ((header.bits & record_bits::kExpiry) != 0) {
    put.expiry = take_number<std::uint32_t>();
  }
  if ((header.bits & record_bits::kCas) != 0) {
    put.cas = take_number<std::uint64_t>();
    put.has_cas = true;
  }
  put.key = take(header.a);
  put.value = take(inside);
  return put;
}

std::optional<Record> RecordReader::read_range(const Header& header) noexcept {
  if ((header.bits & ~record_bits::kOfRange) != 0) {
    return fail("a record has unknown bits");
  }
  const auto items = take_number<std::uint64_t>();
  if (header.type == record_type::range_gone) {
    return RangeGoneRecord{header.order, take_bounds(header), items};
  }
  const auto expiry = take_number<std::uint32_t>();
  const auto moment = take_number<std::uint64_t>();
  return RangeTouchRecord{header.order, take_bounds(header), items, moment, expiry};
}

RecordBounds RecordReader::take_bounds(const Header& header) noexcept {
  RecordBounds bounds;
  bounds.from = take(header.a);
  bounds.to = take(header.b);
  bounds.from_is_open = (header.bits & record_bits::kFromOpen) != 0;
  bounds.to_is_open = (header.bits & record_bits::kToOpen) != 0;
  bounds.has_no_end = (header.bits & record_bits::kNoEnd) != 0;
  return bounds;
}

std::string_view RecordReader::take(std::size_t bytes) noexcept {
  if (bytes > left_.size()) {
    short_ = true;
    return {};
  }
  const std::string_view taken = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return taken;
}

template <class T>
T RecordReader::take_number() noexcept {
  const std::string_view bytes = take(sizeof(T));
  return bytes.empty() ? T{0} : load_number<T>(&bytes.front());
}

std::optional<Record> RecordReader::fail(const char* wrong) noexcept {
  wrong_ = wrong;
  return std::nullopt;
}

}  // namespace mxkv::server
