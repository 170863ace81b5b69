// The body of a group's message: records as in a journal, each followed by its separate value, if it has one.
//
//   entries, one behind the other:  u32 record bytes | u32 apart bytes | record | value apart
//
// The lengths stand first, so that code that deals or drops entries need not parse records. A message has a
// hash (message.hpp); a body has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/commit/record.hpp"

namespace mxkv::server {

inline constexpr std::size_t kBodyEntryHeaderBytes = 8;

/// Writes bodies. Thread-safety: any thread, each with its own body.
class RecordBody {
 public:
  /// Appends an entry: a record as write_record() makes it, and its separate value in pieces.
  static void add(std::string& body, std::string_view record, std::span<const std::string_view> apart = {});
  /// The same for a record that is not written yet.
  template <class R>
  static void add_record(std::string& body, const R& record, std::span<const std::string_view> apart = {}) {
    char* const out = begin(body, encoded_bytes(record), bytes_of(apart));
    write_record(out, record);
    append(body, apart);
  }

 private:
  [[nodiscard]] static std::size_t bytes_of(std::span<const std::string_view> apart) noexcept;
  /// Where the record's bytes belong.
  [[nodiscard]] static char* begin(std::string& body, std::size_t record_bytes, std::size_t apart_bytes);
  static void append(std::string& body, std::span<const std::string_view> apart);
};

/// The part of the bounds in [from, to); `to` empty: to the end. Thread-safety: any thread.
[[nodiscard]] RecordBounds kept_within(RecordBounds bounds, std::string_view from,
                                       std::string_view to) noexcept;
/// Whether no key lies in the bounds. Thread-safety: any thread.
[[nodiscard]] bool holds_nothing(const RecordBounds& bounds) noexcept;

/// An entry that was read. Refers to the body.
struct BodyEntry {
  Record record;
  std::string_view bytes;  ///< the record as written
  std::string_view apart;  ///< the value of a put, if it is separate
};

/// Reads the entries of a body, in order. Accepts any bytes: it never reads outside of them, and reports an
/// invalid entry. Allocates nothing. Thread-safety: one thread at a time.
class RecordBodyReader {
 public:
  explicit RecordBodyReader(std::string_view body, std::size_t position = 0) noexcept
      : body_(body), position_(position) {}

  /// The next entry; nothing: the end, or an invalid entry (see wrong()).
  [[nodiscard]] std::optional<BodyEntry> next() noexcept;

  /// The mistake in the entry at position(), or null.
  [[nodiscard]] const char* wrong() const noexcept { return wrong_; }
  [[nodiscard]] bool at_end() const noexcept { return position_ == body_.size(); }
  /// Of the next entry, or of the invalid one: bytes from the body's beginning.
  [[nodiscard]] std::size_t position() const noexcept { return position_; }

 private:
  std::optional<BodyEntry> fail(const char* wrong) noexcept;

  std::string_view body_;
  std::size_t position_;
  const char* wrong_ = nullptr;
};

}  // namespace mxkv::server
