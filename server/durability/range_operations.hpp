// Operations on many keys: range deletes, range touches and flushes. Replay asks for each key which of them
// concern it.
//
// Each has an order above all changes before it (index/commit_point.hpp), so it has one place among the
// changes of every key that it concerns. So orders alone decide about an item with order p: it is gone if a
// delete of its range, or a flush, has an order of p or more.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/commit/record.hpp"
#include "server/durability/record_effect.hpp"
#include "server/store/core/worker_context.hpp"

namespace mxkv::server {

/// A delete or a touch of a range. A flush is a delete of all keys.
struct RangeOperation {
  RecordBounds bounds{};  ///< refer to the bytes of the record
  RecordedChange change{};

  [[nodiscard]] bool touches() const noexcept { return change.type == record_type::range_touch; }
  [[nodiscard]] bool begins_after(std::string_view key) const noexcept {
    return bounds.from_is_open ? key <= bounds.from : key < bounds.from;
  }
  [[nodiscard]] bool ends_before(std::string_view key) const noexcept {
    return !bounds.has_no_end && (bounds.to_is_open ? key >= bounds.to : key > bounds.to);
  }
};

[[nodiscard]] constexpr RangeOperation range_operation_of(const RangeGoneRecord& record) noexcept {
  return {.bounds = record.bounds, .change = change_of(record)};
}
[[nodiscard]] constexpr RangeOperation range_operation_of(const RangeTouchRecord& record) noexcept {
  return {.bounds = record.bounds, .change = change_of(record)};
}
[[nodiscard]] constexpr RangeOperation range_operation_of(const FlushRecord& record) noexcept {
  return {.bounds = {.has_no_end = true}, .change = change_of(record)};
}

/// The delayed flush, as FlushPoints has it.
struct FlushState {
  std::uint64_t next = 0;
  std::uint64_t before = 0;

  [[nodiscard]] std::uint64_t at(std::uint64_t now_us) const noexcept {
    return next > now_us ? before : next;
  }
  void set(std::uint64_t point, std::uint64_t now_us) noexcept {
    before = at(now_us);
    next = point;
  }
  friend bool operator==(const FlushState&, const FlushState&) = default;
};

/// The operations of one recovery. Thread-safety: add() and take() one thread at a time; after seal() any
/// thread.
class RangeOperations {
 public:
  void add(const RangeGoneRecord& record);
  void add(const RangeTouchRecord& record);
  void add(const FlushRecord& record) noexcept;
  void add(const FlushAtRecord& record);
  /// Adds the operations of `other`.
  void take(RangeOperations&& other);

  /// Ends the adding. `flushes`: in force before the first operation.
  void seal(const FlushState& flushes);

  /// Sorted by the beginning of their ranges.
  [[nodiscard]] const std::vector<RangeOperation>& ranges() const noexcept { return ranges_; }
  /// A flush has taken items with an order up to this.
  [[nodiscard]] std::uint64_t floor() const noexcept { return floor_; }
  /// In force after the last operation.
  [[nodiscard]] const FlushState& flushes() const noexcept { return flushes_; }
  /// Of all operations.
  [[nodiscard]] std::uint64_t greatest_order() const noexcept { return greatest_order_; }
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

 private:
  void note(std::uint64_t order) noexcept;

  std::vector<RangeOperation> ranges_;
  std::vector<FlushAtRecord> delayed_;
  FlushState flushes_;
  std::uint64_t floor_ = 0;
  std::uint64_t greatest_order_ = 0;
  std::uint64_t records_ = 0;
};

/// The operations on ranges that concern a key, for keys in order. Thread-safety: one thread.
class RangesAtKey {
 public:
  explicit RangesAtKey(const RangeOperations& all) noexcept : all_(&all.ranges()) {}

  /// Moves to a key that is not below the last one.
  void move_to(std::string_view key) {
    if ((next_ < all_->size() && !(*all_)[next_].begins_after(key)) ||
        (first_end_ != nullptr && first_end_->ends_before(key))) [[unlikely]] {
      change(key);
    }
  }
  /// The delete with the greatest order; the order is 0 if there is none.
  [[nodiscard]] const RecordedChange& last_delete() const noexcept { return last_delete_; }
  /// Touches of ranges with the key, by order.
  [[nodiscard]] const std::vector<const RangeOperation*>& touches() const noexcept { return touches_; }

 private:
  void change(std::string_view key);

  const std::vector<RangeOperation>* all_;
  std::size_t next_ = 0;  ///< the first range that begins after the key
  std::vector<const RangeOperation*> here_;
  std::vector<const RangeOperation*> touches_;
  const RangeOperation* first_end_ = nullptr;  ///< the range in here_ that ends first; null: none ends
  RecordedChange last_delete_{.type = record_type::range_gone};
};

}  // namespace mxkv::server
