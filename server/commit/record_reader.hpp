// Reads the records of one block's payload, in order. Takes any bytes: an invalid record is reported, and
// ends the reading. Marks of batches are passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "server/commit/record.hpp"

namespace mxkv::server {

/// The batches in the blocks of one worker, which are read one after the other.
struct BatchMarks {
  bool open = false;          ///< a batch has begun and not ended
  std::uint32_t batches = 0;  ///< that have begun
};

/// Never reads outside of the payload, to which its results refer. Allocates nothing.
/// Thread-safety: one thread at a time.
class RecordReader {
 public:
  /// `marks`: follows the batches, and a mark that does not fit is an error. It outlives this. Null: marks are
  /// only passed over.
  explicit RecordReader(std::string_view payload, BatchMarks* marks = nullptr) noexcept
      : payload_(payload), marks_(marks) {}

  /// The next record; nothing: the end, or an invalid record (see wrong()).
  [[nodiscard]] std::optional<Record> next() noexcept;
  /// Passes the marks before the next record. False: one is invalid.
  [[nodiscard]] bool pass_marks() noexcept;

  /// The offset in the payload of the record that next() returned; position() is its end.
  [[nodiscard]] std::size_t begin() const noexcept { return begin_; }
  /// The error in the record at position(), or null.
  [[nodiscard]] const char* wrong() const noexcept { return wrong_; }
  [[nodiscard]] bool at_end() const noexcept { return position_ == payload_.size(); }
  /// The offset in the payload of the next record, or of the invalid one.
  [[nodiscard]] std::size_t position() const noexcept { return position_; }

 private:
  struct Header;
  [[nodiscard]] std::optional<Record> fail(const char* wrong) noexcept;
  [[nodiscard]] std::string_view take(std::size_t bytes) noexcept;
  template <class T>
  [[nodiscard]] T take_number() noexcept;
  [[nodiscard]] RecordBounds take_bounds(const Header& header) noexcept;
  [[nodiscard]] std::optional<Record> read(const Header& header) noexcept;
  [[nodiscard]] std::optional<Record> read_put(const Header& header) noexcept;
  [[nodiscard]] std::optional<Record> read_range(const Header& header) noexcept;

  std::string_view payload_;
  std::string_view left_;  ///< the rest, from within the current record on
  BatchMarks* marks_;
  std::size_t position_ = 0;
  std::size_t begin_ = 0;
  const char* wrong_ = nullptr;
  bool short_ = false;  ///< more was taken than there is
};

}  // namespace mxkv::server
