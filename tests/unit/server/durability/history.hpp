// A random history of a store by one thread, as its journal has it: records of all types, with a checkpoint
// whose items were read one after the other meanwhile. The expected end is in a map to which all operations
// were applied in order.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"
#include "server/durability/replay.hpp"

namespace mxkv::server::testing {

struct HistoryItem {
  std::uint64_t order = 0;
  std::uint32_t expiry = 0;
  std::string value;
  friend bool operator==(const HistoryItem&, const HistoryItem&) = default;
};
using Items = std::map<std::string, HistoryItem>;

/// The mistakes that a history makes on purpose.
enum class mistake : std::uint8_t {
  none,
  range_below_its_items,  ///< an operation on a range has an order that its items have, too
  touch_first,            ///< a touch has an order below its put
  flush_forgotten,
  moment_forgotten,  ///< a range touch judges nothing
  label_too_early,   ///< a record is missing: its label is of an epoch before the checkpoint
  stale_base,        ///< the checkpoint has an item of before it began
};

class History {
 public:
  History(std::uint64_t seed, std::size_t steps, mistake wrong = mistake::none)
      : random_(seed), wrong_(wrong) {
    begin_ = random_.below(steps / 2);
    for (const std::string& key : keys()) {
      scans_.emplace(key, begin_ + random_.below(steps - begin_));
    }
    for (step_ = 0; step_ < steps; ++step_) {
      if (step_ == begin_) {
        flushes_at_begin_ = flushes_;
      }
      turn();
      scan();
    }
    now_us_ += random_.below(3) * 1'000'000;
  }

  static const std::vector<std::string>& keys() {
    static const std::vector<std::string> kKeys{
        "a", "aa", "ab:123456789", "ab:123456789x", "b", "b1:aaa", "b1:aab", "b1:aac", "b2", "zz"};
    return kKeys;
  }

  /// One record of a key.
  struct Keyed {
    std::string key;
    std::uint64_t order;
    record_type type;
    const char* bytes;
  };

  // The input of recovery.
  [[nodiscard]] const std::vector<Keyed>& keyed() const noexcept { return keyed_; }
  [[nodiscard]] RangeOperations operations() const {
    RangeOperations all = operations_;
    all.seal(flushes_at_begin_);
    return all;
  }
  [[nodiscard]] const Items& base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t now_us() const noexcept { return now_us_; }
  [[nodiscard]] const FlushState& flushes() const noexcept { return flushes_; }

  /// The items that live at the end.
  [[nodiscard]] Items expected() const {
    Items live;
    for (const auto& [key, item] : items_) {
      if (alive(item, now_us_)) {
        live.emplace(key, item);
      }
    }
    return live;
  }

 private:
  [[nodiscard]] bool alive(const HistoryItem& item, std::uint64_t at_us) const {
    return (item.expiry == 0 || item.expiry > at_us / 1'000'000) && item.order > flushes_.at(at_us);
  }
  [[nodiscard]] const std::string& some_key() { return keys()[random_.below(keys().size())]; }
  std::uint64_t mint(const std::string& key) {
    std::uint64_t& last = last_[key];
    last = std::max({last, floor_, now_us_}) + 1 + (random_.below(8) == 0 ? random_.below(2'000'000) : 0);
    greatest_ = std::max(greatest_, last);
    return last;
  }
  [[nodiscard]] std::uint32_t some_expiry() {
    return random_.below(2) == 0 ? 0 : static_cast<std::uint32_t>(now_us_ / 1'000'000 + random_.below(6));
  }
  [[nodiscard]] bool logged() const { return step_ >= begin_; }

  template <class R>
  const char* bytes_of(const R& record) {
    std::string& bytes = stored_.emplace_back(encoded_bytes(record) + 1, '\0');
    write_record(bytes.data(), record);
    return bytes.data();
  }
  template <class R>
  void log(const R& record, record_type type) {
    bool lost = !logged();
    if (wrong_ == mistake::label_too_early && step_ < begin_ + 4) {
      lost = true;
    }
    if (!lost) {
      keyed_.push_back({std::string{record.key}, record.order, type, bytes_of(record)});
    }
  }

  void turn() {
    now_us_ += 1 + random_.below(700'000);
    switch (random_.below(16)) {
      case 0:
      case 1:
        return change_range(random_.below(2) == 0);
      case 2:
        return random_.below(4) == 0 ? flush() : flush_later();
      case 3:
      case 4:
        return remove();
      case 5:
      case 6:
      case 7:
        return touch();
      default:
        return put();
    }
  }
  void put() {
    const std::string& key = some_key();
    HistoryItem item{mint(key), some_expiry(), "v" + std::to_string(step_)};
    log(PutRecord{.order = item.order, .key = key, .value = item.value, .expiry = item.expiry},
        record_type::put);
    items_[key] = item;
  }
  void remove() {
    const std::string& key = some_key();
    const auto at = items_.find(key);
    if (at != items_.end() && alive(at->second, now_us_)) {
      log(GoneRecord{.order = mint(key), .key = key}, record_type::gone);
      items_.erase(at);
    } else if (at != items_.end()) {
      items_.erase(at);  // a sweep has seen it
    }
  }
  void touch() {
    const std::string& key = some_key();
    const auto at = items_.find(key);
    if (at == items_.end() || !alive(at->second, now_us_)) {
      return;
    }
    at->second.expiry = some_expiry();
    const std::uint64_t order = mint(key);
    log(TouchRecord{.order = wrong_ == mistake::touch_first ? at->second.order - 1 : order,
                    .key = key,
                    .expiry = at->second.expiry},
        record_type::touch);
  }

  [[nodiscard]] RecordBounds some_bounds() {
    RecordBounds bounds;
    std::string from = some_key();
    std::string to = some_key();
    if (to < from) {
      std::swap(from, to);
    }
    bounds.from = stored_.emplace_back(random_.below(8) == 0 ? std::string{} : from);
    bounds.to = stored_.emplace_back(to);
    bounds.from_is_open = random_.below(3) == 0;
    bounds.to_is_open = random_.below(3) == 0;
    if (random_.below(4) == 0) {
      bounds.to = {};
      bounds.has_no_end = true;
    }
    return bounds;
  }
  void change_range(bool touches) {
    const RecordBounds bounds = some_bounds();
    const std::uint64_t moment_us = now_us_;
    const std::uint64_t order = floor_ = ++greatest_;
    const std::uint32_t expiry = some_expiry();
    const RangeOperation range{.bounds = bounds};
    for (auto at = items_.begin(); at != items_.end();) {
      if (range.begins_after(at->first) || range.ends_before(at->first) || !alive(at->second, moment_us)) {
        ++at;
      } else if (touches) {
        at++->second.expiry = expiry;
      } else {
        at = items_.erase(at);
      }
    }
    if (!logged()) {
      return;
    }
    const std::uint64_t told = wrong_ == mistake::range_below_its_items ? order - 1'000'000 : order;
    if (touches) {
      operations_.add(RangeTouchRecord{.order = told,
                                       .bounds = bounds,
                                       .moment_us = wrong_ == mistake::moment_forgotten ? 1 : moment_us,
                                       .expiry = expiry});
    } else {
      operations_.add(RangeGoneRecord{.order = told, .bounds = bounds});
    }
  }
  void flush() {
    floor_ = greatest_ = std::max(greatest_, now_us_ + random_.below(1000)) + 1;
    items_.clear();
    if (logged() && wrong_ != mistake::flush_forgotten) {
      operations_.add(FlushRecord{floor_});
    }
  }
  void flush_later() {
    const std::uint64_t point = now_us_ + 1 + random_.below(4'000'000);
    flushes_.set(point, now_us_);
    if (logged()) {
      operations_.add(FlushAtRecord{.order = point, .point_us = point, .now_us = now_us_});
    }
  }

  /// The checkpoint's reads at this step.
  void scan() {
    for (const auto& [key, when] : scans_) {
      const bool early = wrong_ == mistake::stale_base && step_ + 3 == begin_;
      const auto item = items_.find(key);
      if ((when == step_ || early) && item != items_.end() && alive(item->second, now_us_)) {
        base_.emplace(key, item->second);
      }
    }
  }

  runtime::Random random_;
  mistake wrong_;
  std::size_t step_ = 0;
  std::size_t begin_;  ///< of the checkpoint
  std::uint64_t now_us_ = 1'700'000'000'000'000;
  std::uint64_t floor_ = 0;
  std::uint64_t greatest_ = now_us_;
  std::map<std::string, std::uint64_t> last_;
  std::map<std::string, std::size_t> scans_;
  FlushState flushes_;
  FlushState flushes_at_begin_;
  Items items_;
  Items base_;
  std::deque<std::string> stored_;
  std::vector<Keyed> keyed_;
  RangeOperations operations_;
};

}  // namespace mxkv::server::testing
