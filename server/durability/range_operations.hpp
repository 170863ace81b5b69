// What happened to more than one key: range deletes and touches, flushes. Replay asks, key after key, which of
// them concern it.
//
// Each has an order above all that came before it (index/commit_point.hpp), so it stands at one place among
// the changes of every key that it concerns. What became of an item with order p is then known by numbers: it
// is gone if a delete of its range, or a flush, has an order of p or more.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/journal/record.hpp"
#include "server/store/worker_context.hpp"

namespace mxkv::server {

/// A range delete, or a touch.
struct RangeOperation {
  RecordBounds bounds;  ///< in the bytes of the record
  std::uint64_t order = 0;
  bool touches = false;
  std::uint32_t expiry = 0;      ///< touch: seconds of the wall clock
  std::uint64_t moment_us = 0;   ///< touch: at which items are judged
  std::uint64_t flushed_us = 0;  ///< touch: items up to this order were flushed then; set by seal()

  [[nodiscard]] bool begins_after(std::string_view key) const noexcept {
    return bounds.from_is_open ? key <= bounds.from : key < bounds.from;
  }
  [[nodiscard]] bool ends_before(std::string_view key) const noexcept {
    return !bounds.has_no_end && (bounds.to_is_open ? key >= bounds.to : key > bounds.to);
  }
};

/// The delayed flush in force, as FlushPoints has it.
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

/// Of one recovery. Thread-safety: add() and take() one thread at a time; after seal() any thread.
class RangeOperations {
 public:
  void add(const RangeGoneRecord& record);
  void add(const RangeTouchRecord& record);
  void add(const FlushRecord& record) noexcept;
  void add(const FlushAtRecord& record);
  /// What another one gathered.
  void take(RangeOperations&& other);

  /// Nothing is added from now on. `flushes`: what was in force before all of it.
  void seal(const FlushState& flushes);

  /// By the beginning of their ranges.
  [[nodiscard]] const std::vector<RangeOperation>& ranges() const noexcept { return ranges_; }
  /// Items with an order up to this are gone.
  [[nodiscard]] std::uint64_t floor() const noexcept { return floor_; }
  /// What is in force after all of it.
  [[nodiscard]] const FlushState& flushes() const noexcept { return flushes_; }
  /// Of all of them.
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

/// The operations on ranges that concern a key, for keys that come in order. Thread-safety: one thread.
class RangesAtKey {
 public:
  explicit RangesAtKey(const RangeOperations& all) noexcept : all_(&all.ranges()) {}

  /// Goes on to a key that is not below the last one.
  void move_to(std::string_view key) {
    if ((next_ < all_->size() && !(*all_)[next_].begins_after(key)) ||
        (first_end_ != nullptr && first_end_->ends_before(key))) [[unlikely]] {
      change(key);
    }
  }
  /// Items with an order up to this were deleted; 0: none.
  [[nodiscard]] std::uint64_t gone_through() const noexcept { return gone_through_; }
  /// Touches, by order.
  [[nodiscard]] const std::vector<const RangeOperation*>& touches() const noexcept { return touches_; }

 private:
  void change(std::string_view key);

  const std::vector<RangeOperation>* all_;
  std::size_t next_ = 0;  ///< the first one that begins after the key
  std::vector<const RangeOperation*> here_;
  std::vector<const RangeOperation*> touches_;
  const RangeOperation* first_end_ = nullptr;  ///< the one of here_ that ends first; null: none ends
  std::uint64_t gone_through_ = 0;
};

}  // namespace mxkv::server
