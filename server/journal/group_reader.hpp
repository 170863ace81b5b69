// Reads the records of one whole group, in order, with their values apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "server/commit/record_reader.hpp"
#include "server/journal/segment_scan.hpp"

namespace mxkv::server {

/// Its results refer to the file's bytes. Thread-safety: one thread at a time.
class GroupReader {
 public:
  struct Entry {
    Record record;
    /// A value apart, piece by piece; valid until the next call of next().
    std::span<const std::string_view> apart;
    std::uint16_t worker = 0;  ///< the worker that recorded it
    std::uint32_t batch = 0;   ///< number of its batch in the group, from 1; 0: it is of none
  };

  /// `file`: the bytes in which the group was found.
  GroupReader(std::string_view file, const ScannedGroup& group) noexcept;
  GroupReader(const GroupReader&) = delete;
  GroupReader& operator=(const GroupReader&) = delete;

  /// The next record; nothing: the end, or no writer makes such a group (see wrong()).
  [[nodiscard]] std::optional<Entry> next();

  /// Batches that have begun.
  [[nodiscard]] std::uint32_t batches() const noexcept { return marks_.batches; }

  /// The error at byte position() of the file, or null.
  [[nodiscard]] const char* wrong() const noexcept { return wrong_; }
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

 private:
  [[nodiscard]] bool next_block() noexcept;
  [[nodiscard]] bool end_block() noexcept;
  [[nodiscard]] bool take_apart(std::uint64_t bytes);
  bool fail(std::uint64_t at, const char* wrong) noexcept;

  std::string_view file_;      ///< up to the group's end
  std::uint64_t at_;           ///< the next block
  std::uint32_t blocks_left_;  ///< from at_ on
  std::uint32_t records_left_ = 0;
  std::uint64_t payload_at_ = 0;
  std::uint16_t worker_ = 0;  ///< of the block
  BatchMarks marks_;
  RecordReader records_{{}};
  std::vector<std::string_view> apart_;
  std::uint64_t position_ = 0;
  const char* wrong_ = nullptr;
};

}  // namespace mxkv::server
