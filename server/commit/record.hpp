// Records: the changes of the store, one each. This file defines and writes them; record_reader.hpp reads
// them.
//
// A record begins with 12 bytes: u8 type, u8 bits, u8 a, u8 b, u64 order. The rest depends on the type:
//
//   put          a: key bytes, b: marks; u32 value bytes (u64 if apart) [u32 flags][u32 expiry][u64 cas]
//                key value
//   gone         a: key bytes; bits say why; key
//   touch        a: key bytes; bits, b: lower and upper bits of an access code; u32 expiry, key
//   range_gone   a, b: bytes of the bounds; bits say which are open; u64 items, from, to
//   range_touch  as range_gone, then u32 expiry and u64 moment before the bounds
//   flush        removes all items with an order up to its own
//   flush_at     u64 point, u64 now: a flush in the future
//
// Two *marks* have the same 12 bytes, all zero but the type. They are no records and are not counted as such:
//
//   batch_begin, batch_end   the records of this worker in between are one batch: they passed as a group
//
// `order` grows with each change of a key (index/commit_point.hpp). An operation on a range has an order
// above all earlier changes. In checkpoints the 11 bits above the order's 53 are the item's access code. A bit of
// the record says that the code counts reads (access_code.hpp). Codes of records without it have an age alone;
// reading translates them.
//
// Reads are no changes, so the journal records them only at an orderly end: by touches with the item's own
// order and its access code. They do not change the expiry, as only a touch with a greater order than the
// item's does.
//
// A value apart follows in blocks of its own; its record is the last of its block.
//
// Records are written under latches: sizes are known beforehand, nothing fails, and a put costs about as much
// as copying it. The writers return the end of the record. Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <variant>

#include "runtime/base/assert.hpp"
#include "server/commit/access_code.hpp"
#include "server/commit/record_format.hpp"

namespace mxkv::server {

enum class record_type : std::uint8_t {
  put = 1,
  gone = 2,
  touch = 3,
  range_gone = 4,
  range_touch = 5,
  flush = 6,
  flush_at = 7,
};

/// A mark beside the records; its number is not one of a record_type.
enum class batch_mark : std::uint8_t { begin = 8, end = 9 };

enum class gone_reason : std::uint8_t { deleted = 0, evicted = 1 };

/// The key has this item now. `apart_bytes`: length of a value in blocks of its own, and `value` is empty; 0:
/// `value` is the value. The expiry is in seconds of the record's clock, which is the steady time in a data
/// directory; 0: never. `marks` are the item's (stale 1, won 2, binary 4).
struct PutRecord {
  std::uint64_t order = 0;
  std::string_view key{};
  std::string_view value{};
  std::uint64_t apart_bytes = 0;
  std::uint64_t cas = 0;  ///< chosen by a client, if has_cas
  std::uint32_t flags = 0;
  std::uint32_t expiry = 0;
  std::uint16_t access = 0;  ///< access code; checkpoints only
  std::uint8_t marks = 0;
  bool has_cas = false;

  friend bool operator==(const PutRecord&, const PutRecord&) = default;
};

/// A put of only key and value, as most are. Written as its PutRecord would be.
struct PlainPut {
  std::uint64_t order = 0;
  const char* bytes = nullptr;  ///< the key, directly followed by the value
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t marks = 0;
};

struct GoneRecord {
  std::uint64_t order = 0;
  std::string_view key{};
  gone_reason reason = gone_reason::deleted;

  friend bool operator==(const GoneRecord&, const GoneRecord&) = default;
};

/// The item gets another expiry. With the item's own order it only records the access code.
struct TouchRecord {
  std::uint64_t order = 0;
  std::string_view key{};
  std::uint32_t expiry = 0;
  std::uint16_t access = 0;  ///< access code

  friend bool operator==(const TouchRecord&, const TouchRecord&) = default;
};

/// The keys between two bounds. An open bound is not among them. Keys have at most 255 bytes.
struct RecordBounds {
  std::string_view from{};
  std::string_view to{};  ///< empty if there is no end
  bool from_is_open = false;
  bool to_is_open = false;
  bool has_no_end = false;

  friend bool operator==(const RecordBounds&, const RecordBounds&) = default;
};

/// Removes all items of the range with an order up to its own. `items`: how many there were.
struct RangeGoneRecord {
  std::uint64_t order = 0;
  RecordBounds bounds;
  std::uint64_t items = 0;

  friend bool operator==(const RangeGoneRecord&, const RangeGoneRecord&) = default;
};

/// Gives the items of the range that were live at `moment_us` another expiry. Times are by the record's
/// clock.
struct RangeTouchRecord {
  std::uint64_t order = 0;
  RecordBounds bounds;
  std::uint64_t items = 0;
  std::uint64_t moment_us = 0;
  std::uint32_t expiry = 0;

  friend bool operator==(const RangeTouchRecord&, const RangeTouchRecord&) = default;
};

struct FlushRecord {
  std::uint64_t order = 0;

  friend bool operator==(const FlushRecord&, const FlushRecord&) = default;
};

/// A flush that takes effect at `point_us`; the client sent it at `now_us`.
struct FlushAtRecord {
  std::uint64_t order = 0;
  std::uint64_t point_us = 0;
  std::uint64_t now_us = 0;

  friend bool operator==(const FlushAtRecord&, const FlushAtRecord&) = default;
};

using Record = std::variant<PutRecord, GoneRecord, TouchRecord, RangeGoneRecord, RangeTouchRecord,
                            FlushRecord, FlushAtRecord>;

inline constexpr std::size_t kRecordHeaderBytes = 12;
inline constexpr std::size_t kMostKeyBytes = 255;

namespace record_bits {
inline constexpr std::uint8_t kFlags = 1;
inline constexpr std::uint8_t kExpiry = 2;
inline constexpr std::uint8_t kCas = 4;
inline constexpr std::uint8_t kApart = 8;
inline constexpr std::uint8_t kReads = 16;  ///< the access code counts reads
inline constexpr std::uint8_t kOfPut = kFlags | kExpiry | kCas | kApart | kReads;
/// Of a touch, in b above the code's upper bits: the code counts reads.
inline constexpr std::uint8_t kTouchReads = 8;

inline constexpr std::uint8_t kFromOpen = 1;
inline constexpr std::uint8_t kToOpen = 2;
inline constexpr std::uint8_t kNoEnd = 4;
inline constexpr std::uint8_t kOfRange = kFromOpen | kToOpen | kNoEnd;
}  // namespace record_bits

/// The access code in a put's header.
[[nodiscard]] inline std::uint16_t access_of_put(std::uint8_t bits, std::uint64_t order) noexcept {
  const auto code = static_cast<std::uint32_t>(order >> kOrderBits);
  return static_cast<std::uint16_t>((bits & record_bits::kReads) != 0 ? code : access_code::of_older(code));
}
/// The access code in a touch's bits and b.
[[nodiscard]] inline std::uint16_t access_of_touch(std::uint8_t bits, std::uint8_t b) noexcept {
  const std::uint32_t code = (bits | std::uint32_t{b} << 8U) & kMostAccess;
  return static_cast<std::uint16_t>((b & record_bits::kTouchReads) != 0 ? code : access_code::of_older(code));
}

/// Bytes of the largest record with an inline value: a block must have so much room left.
constexpr std::size_t most_bytes(std::size_t value_bytes = kMostInlineBytes) noexcept {
  return kRecordHeaderBytes + 8 + 4 + 4 + 8 + 2 * kMostKeyBytes + value_bytes;
}

// The bytes of a record, without a value apart.

[[nodiscard]] inline std::size_t encoded_bytes(const PutRecord& put) noexcept {
  return kRecordHeaderBytes + (put.apart_bytes != 0 ? 8U : 4U) + (put.flags != 0 ? 4U : 0U) +
         (put.expiry != 0 ? 4U : 0U) + (put.has_cas ? 8U : 0U) + put.key.size() + put.value.size();
}
[[nodiscard]] inline std::size_t encoded_bytes(const PlainPut& put) noexcept {
  return kRecordHeaderBytes + 4 + put.key_bytes + put.value_bytes;
}
[[nodiscard]] inline std::size_t encoded_bytes(const GoneRecord& gone) noexcept {
  return kRecordHeaderBytes + gone.key.size();
}
[[nodiscard]] inline std::size_t encoded_bytes(const TouchRecord& touch) noexcept {
  return kRecordHeaderBytes + 4 + touch.key.size();
}
[[nodiscard]] inline std::size_t encoded_bytes(const RangeGoneRecord& range) noexcept {
  return kRecordHeaderBytes + 8 + range.bounds.from.size() + range.bounds.to.size();
}
[[nodiscard]] inline std::size_t encoded_bytes(const RangeTouchRecord& range) noexcept {
  return kRecordHeaderBytes + 20 + range.bounds.from.size() + range.bounds.to.size();
}
[[nodiscard]] inline std::size_t encoded_bytes(const FlushRecord& /*flush*/) noexcept {
  return kRecordHeaderBytes;
}
[[nodiscard]] inline std::size_t encoded_bytes(const FlushAtRecord& /*flush*/) noexcept {
  return kRecordHeaderBytes + 16;
}

// Each writes encoded_bytes(), a mark kRecordHeaderBytes, to `out` and returns their end.

namespace record_detail {

inline char* put_header(char* out, record_type type, std::uint8_t bits, std::size_t a, std::size_t b,
                        std::uint64_t order) noexcept {
  MXKV_DCHECK(a <= kMostKeyBytes && b <= kMostKeyBytes, "a length or mark of a record fits in a byte");
  const auto first = static_cast<std::uint32_t>(type) | std::uint32_t{bits} << 8U |
                     static_cast<std::uint32_t>(a) << 16U | static_cast<std::uint32_t>(b) << 24U;
  return store_number(store_number(out, first), order);
}

inline char* put_bytes(char* out, std::string_view bytes) noexcept {
  if (!bytes.empty()) [[likely]] {
    std::memcpy(out, bytes.data(), bytes.size());
  }
  return out + bytes.size();
}

inline std::uint8_t bits_of(const RecordBounds& bounds) noexcept {
  return static_cast<std::uint8_t>((bounds.from_is_open ? record_bits::kFromOpen : 0) |
                                   (bounds.to_is_open ? record_bits::kToOpen : 0) |
                                   (bounds.has_no_end ? record_bits::kNoEnd : 0));
}

}  // namespace record_detail

inline char* write_mark(char* out, batch_mark mark) noexcept {
  return record_detail::put_header(out, static_cast<record_type>(mark), 0, 0, 0, 0);
}

inline char* write_record(char* out, const PutRecord& put) noexcept {
  MXKV_DCHECK(put.order <= kMostOrder, "an order has 53 bits");
  MXKV_DCHECK(put.apart_bytes == 0 || put.value.empty(), "a value is inside or apart");
  const auto bits = static_cast<std::uint8_t>(
      (put.flags != 0 ? record_bits::kFlags : 0) | (put.expiry != 0 ? record_bits::kExpiry : 0) |
      (put.has_cas ? record_bits::kCas : 0) | (put.apart_bytes != 0 ? record_bits::kApart : 0) |
      (put.access != 0 ? record_bits::kReads : 0));
  out = record_detail::put_header(out, record_type::put, bits, put.key.size(), put.marks,
                                  put.order | std::uint64_t{put.access} << kOrderBits);
  if (bits == 0) [[likely]] {
    out = store_number(out, static_cast<std::uint32_t>(put.value.size()));
  } else {
    out = put.apart_bytes != 0 ? store_number(out, put.apart_bytes)
                               : store_number(out, static_cast<std::uint32_t>(put.value.size()));
    out = put.flags != 0 ? store_number(out, put.flags) : out;
    out = put.expiry != 0 ? store_number(out, put.expiry) : out;
    out = put.has_cas ? store_number(out, put.cas) : out;
  }
  return record_detail::put_bytes(record_detail::put_bytes(out, put.key), put.value);
}

inline char* write_record(char* out, const PlainPut& put) noexcept {
  MXKV_DCHECK(put.order <= kMostOrder, "an order has 53 bits");
  out = record_detail::put_header(out, record_type::put, 0, put.key_bytes, put.marks, put.order);
  out = store_number(out, put.value_bytes);
  const std::size_t bytes = std::size_t{put.key_bytes} + put.value_bytes;
  std::memcpy(out, put.bytes, bytes);
  return out + bytes;
}

inline char* write_record(char* out, const GoneRecord& gone) noexcept {
  out = record_detail::put_header(out, record_type::gone, static_cast<std::uint8_t>(gone.reason),
                                  gone.key.size(), 0, gone.order);
  return record_detail::put_bytes(out, gone.key);
}

inline char* write_record(char* out, const TouchRecord& touch) noexcept {
  out = record_detail::put_header(
      out, record_type::touch, static_cast<std::uint8_t>(touch.access), touch.key.size(),
      touch.access == 0 ? 0 : touch.access >> 8U | record_bits::kTouchReads, touch.order);
  return record_detail::put_bytes(store_number(out, touch.expiry), touch.key);
}

inline char* write_record(char* out, const RangeGoneRecord& range) noexcept {
  const RecordBounds& bounds = range.bounds;
  out = record_detail::put_header(out, record_type::range_gone, record_detail::bits_of(bounds),
                                  bounds.from.size(), bounds.to.size(), range.order);
  out = store_number(out, range.items);
  return record_detail::put_bytes(record_detail::put_bytes(out, bounds.from), bounds.to);
}

inline char* write_record(char* out, const RangeTouchRecord& range) noexcept {
  const RecordBounds& bounds = range.bounds;
  out = record_detail::put_header(out, record_type::range_touch, record_detail::bits_of(bounds),
                                  bounds.from.size(), bounds.to.size(), range.order);
  out = store_number(store_number(store_number(out, range.items), range.expiry), range.moment_us);
  return record_detail::put_bytes(record_detail::put_bytes(out, bounds.from), bounds.to);
}

inline char* write_record(char* out, const FlushRecord& flush) noexcept {
  return record_detail::put_header(out, record_type::flush, 0, 0, 0, flush.order);
}

inline char* write_record(char* out, const FlushAtRecord& flush) noexcept {
  out = record_detail::put_header(out, record_type::flush_at, 0, 0, 0, flush.order);
  return store_number(store_number(out, flush.point_us), flush.now_us);
}

}  // namespace mxkv::server
