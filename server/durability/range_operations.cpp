#include "server/durability/range_operations.hpp"

#include <algorithm>

namespace mxkv::server {

namespace {

bool begins_sooner(const RangeOperation& a, const RangeOperation& b) noexcept {
  const int order = a.bounds.from.compare(b.bounds.from);
  return order != 0 ? order < 0 : a.bounds.from_is_open < b.bounds.from_is_open;
}

/// Whether `a` ends before `b`; both have an end.
bool ends_sooner(const RangeOperation& a, const RangeOperation& b) noexcept {
  const int order = a.bounds.to.compare(b.bounds.to);
  return order != 0 ? order < 0 : a.bounds.to_is_open > b.bounds.to_is_open;
}

}  // namespace

void RangeOperations::note(std::uint64_t order) noexcept {
  MXKV_DCHECK(order != 0, "what was recorded has a place in the order");
  greatest_order_ = std::max(greatest_order_, order);
  ++records_;
}

void RangeOperations::add(const RangeGoneRecord& record) {
  note(record.order);
  ranges_.push_back(range_operation_of(record));
}

void RangeOperations::add(const RangeTouchRecord& record) {
  note(record.order);
  ranges_.push_back(range_operation_of(record));
}

void RangeOperations::add(const FlushRecord& record) noexcept {
  note(record.order);
  floor_ = std::max(floor_, record.order);
}

void RangeOperations::add(const FlushAtRecord& record) {
  ++records_;  // its order is the flush point, which is still to come
  delayed_.push_back(record);
}

void RangeOperations::take(RangeOperations&& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  delayed_.insert(delayed_.end(), other.delayed_.begin(), other.delayed_.end());
  floor_ = std::max(floor_, other.floor_);
  greatest_order_ = std::max(greatest_order_, other.greatest_order_);
  records_ += other.records_;
  other = {};
}

void RangeOperations::seal(const FlushState& flushes) {
  flushes_ = flushes;
  std::sort(delayed_.begin(), delayed_.end(),
            [](const FlushAtRecord& a, const FlushAtRecord& b) { return a.now_us < b.now_us; });
  std::sort(ranges_.begin(), ranges_.end(), [](const RangeOperation& a, const RangeOperation& b) {
    return a.change.moment_us < b.change.moment_us;
  });
  auto delayed = delayed_.begin();
  for (RangeOperation& range : ranges_) {
    for (; delayed != delayed_.end() && delayed->now_us <= range.change.moment_us; ++delayed) {
      flushes_.set(delayed->point_us, delayed->now_us);
    }
    range.change.flushed_us = flushes_.at(range.change.moment_us);
  }
  for (; delayed != delayed_.end(); ++delayed) {
    flushes_.set(delayed->point_us, delayed->now_us);
  }
  std::sort(ranges_.begin(), ranges_.end(), begins_sooner);
}

void RangesAtKey::change(std::string_view key) {
  MXKV_DCHECK(here_.empty() || !here_.back()->begins_after(key), "keys are asked for in their order");
  for (; next_ < all_->size() && !(*all_)[next_].begins_after(key); ++next_) {
    here_.push_back(&(*all_)[next_]);
  }
  std::erase_if(here_, [key](const RangeOperation* range) { return range->ends_before(key); });
  last_delete_.order = 0;
  touches_.clear();
  first_end_ = nullptr;
  for (const RangeOperation* range : here_) {
    if (range->touches()) {
      touches_.push_back(range);
    } else if (range->change.order > last_delete_.order) {
      last_delete_ = range->change;
    }
    if (!range->bounds.has_no_end && (first_end_ == nullptr || ends_sooner(*range, *first_end_))) {
      first_end_ = range;
    }
  }
  std::sort(touches_.begin(), touches_.end(), [](const RangeOperation* a, const RangeOperation* b) {
    return a->change.order < b->change.order;
  });
}

}  // namespace mxkv::server
