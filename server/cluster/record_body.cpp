#include "server/cluster/record_body.hpp"

#include <limits>

#include "runtime/base/assert.hpp"
#include "server/commit/record_reader.hpp"

namespace mxkv::server {

std::size_t RecordBody::bytes_of(std::span<const std::string_view> apart) noexcept {
  std::size_t bytes = 0;
  for (const std::string_view piece : apart) {
    bytes += piece.size();
  }
  return bytes;
}

char* RecordBody::begin(std::string& body, std::size_t record_bytes, std::size_t apart_bytes) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  MXKV_ASSERT(record_bytes <= kMost && apart_bytes <= kMost, "an entry's lengths have 32 bits");
  const std::size_t at = body.size();
  body.resize(at + kBodyEntryHeaderBytes + record_bytes);
  char* const out = store_number(body.data() + at, static_cast<std::uint32_t>(record_bytes));
  return store_number(out, static_cast<std::uint32_t>(apart_bytes));
}

void RecordBody::append(std::string& body, std::span<const std::string_view> apart) {
  for (const std::string_view piece : apart) {
    body.append(piece);
  }
}

void RecordBody::add(std::string& body, std::string_view record, std::span<const std::string_view> apart) {
  char* const out = begin(body, record.size(), bytes_of(apart));
  record.copy(out, record.size());
  append(body, apart);
}

std::optional<BodyEntry> RecordBodyReader::next() noexcept {
  if (wrong_ != nullptr || position_ >= body_.size()) {
    return std::nullopt;
  }
  const std::string_view left = body_.substr(position_);
  if (left.size() < kBodyEntryHeaderBytes) {
    return fail("an entry is cut off");
  }
  const char* const header = left.data();  // NOLINT: the length was checked above
  const std::size_t record_bytes = load_number<std::uint32_t>(header);
  const std::size_t apart_bytes = load_number<std::uint32_t>(header + sizeof(std::uint32_t));
  if (left.size() - kBodyEntryHeaderBytes < record_bytes + apart_bytes) {
    return fail("an entry is cut off");
  }
  const std::string_view bytes = left.substr(kBodyEntryHeaderBytes, record_bytes);
  RecordReader reader{bytes};
  const std::optional<Record> record = reader.next();
  if (!record) {
    return fail(reader.wrong() != nullptr ? reader.wrong() : "an entry has no record");
  }
  if (reader.begin() != 0 || !reader.at_end()) {
    return fail("an entry has more than one record");
  }
  const auto* const put = std::get_if<PutRecord>(&*record);
  if (apart_bytes != (put != nullptr ? put->apart_bytes : 0)) {
    return fail("a value apart is not as long as its record says");
  }
  const std::string_view apart = left.substr(kBodyEntryHeaderBytes + record_bytes, apart_bytes);
  position_ += kBodyEntryHeaderBytes + record_bytes + apart_bytes;
  MXKV_ASSERT(position_ <= body_.size(), "an entry lies in its body");
  return BodyEntry{*record, bytes, apart};
}

std::optional<BodyEntry> RecordBodyReader::fail(const char* wrong) noexcept {
  wrong_ = wrong;
  return std::nullopt;
}

RecordBounds kept_within(RecordBounds bounds, std::string_view from, std::string_view to) noexcept {
  MXKV_ASSERT(to.empty() || from < to, "a shard has keys");
  if (bounds.from < from) {
    bounds.from = from;
    bounds.from_is_open = false;
  }
  if (!to.empty() && (bounds.has_no_end || bounds.to >= to)) {
    bounds.to = to;
    bounds.to_is_open = true;
    bounds.has_no_end = false;
  }
  return bounds;
}

bool holds_nothing(const RecordBounds& bounds) noexcept {
  if (bounds.has_no_end) {
    return false;
  }
  if (bounds.to <= bounds.from) {
    return bounds.to < bounds.from || bounds.from_is_open || bounds.to_is_open;
  }
  // No key lies between a key and the same key with a zero byte appended.
  return bounds.from_is_open && bounds.to_is_open && bounds.to.size() == bounds.from.size() + 1 &&
         bounds.to.starts_with(bounds.from) && bounds.to.back() == '\0';
}

}  // namespace mxkv::server
