// Reads the records of one block's payload, in order. Takes any bytes: what is no record is said, not
// followed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "server/journal/record.hpp"

namespace mxkv::server {

/// Never reads outside of the payload; what it returns refers to it. Allocates nothing.
/// Thread-safety: one thread at a time.
class RecordReader {
 public:
  explicit RecordReader(std::string_view payload) noexcept : payload_(payload) {}

  /// The next record; nothing: the end, or what stands there is none (see wrong()).
  [[nodiscard]] std::optional<Record> next() noexcept;

  /// What is wrong with the record at position(), or null.
  [[nodiscard]] const char* wrong() const noexcept { return wrong_; }
  [[nodiscard]] bool at_end() const noexcept { return position_ == payload_.size(); }
  /// Of the next record, or of the one that is wrong: bytes from the payload's begin.
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
  std::string_view left_;  ///< of the record that is being read, and all behind it
  std::size_t position_ = 0;
  const char* wrong_ = nullptr;
  bool short_ = false;  ///< more was taken than there is
};

}  // namespace mxkv::server
