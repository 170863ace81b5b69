// Quotas: how much memory the items of a prefix take, may take, and keep.
//
// A key counts in the quota of the longest configured prefix that it begins with, or in none. Each worker counts its own
// changes in one cache line a quota. It publishes them to the quota's total each millisecond (quota_eviction.hpp), and
// limits are compared with the total. Statistics sum the lines, and are exact when no write is under way.
//
// A quota's `charge` is what its limits are compared with: the bytes of its items, and kBesideItem bytes an item for
// the tree. The set of prefixes is fixed at start-up; limits may change at any time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "index/key.hpp"
#include "runtime/base/cache_line.hpp"

namespace mxkv::server {

class Item;

/// The bytes of an item beside its memory: a leaf's entry, and its part of the tree.
inline constexpr std::size_t kBesideItem = 32;

struct QuotaOptions {
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0} >> 1U;

  std::string prefix;
  std::uint64_t most_bytes = kNoLimit;  ///< greatest charge
  std::uint64_t keep_bytes = 0;         ///< up to this charge, the need of others evicts nothing of it
  bool evicts = true;       ///< above the limit its items make room; false: its writes are refused
  bool weighs_size = true;  ///< large ones first, because requests count and not bytes
};

enum class quota_count : std::uint8_t {
  items,           ///< added minus removed
  bytes,           ///< added minus removed, as counter::bytes_added counts them
  sets,            ///< values of clients that were stored
  evictions,       ///< items that made room, for whichever limit
  evicted_unread,  ///< of these, items that no client had read
  expired,         ///< expired items that were removed
  refused,         ///< writes that were refused because the quota was full
  ghost_returns,   ///< items that came back soon after their eviction, see ghosts.hpp
  sampled_hits,    ///< gets of the sample (stats.sample) that found an item
  sampled_misses,  ///< gets of the sample that found none
};
inline constexpr std::size_t kQuotaCounts = static_cast<std::size_t>(quota_count::sampled_misses) + 1;

/// The prefixes in order, and the search for the prefix of a key. Immutable. Thread-safety: any thread.
class QuotaPrefixes {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kNone = ~std::size_t{0};

  /// The prefixes are sorted and differ, and none is empty.
  explicit QuotaPrefixes(std::vector<std::string> sorted);

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::string_view at(std::size_t quota) const noexcept { return texts_[quota]; }
  /// The longest prefix that the key begins with; kNone: there is none.
  //
  // All texts between a key and a prefix of it begin with that prefix. So the last prefix that is not above the key is
  // the one wanted, or lies within it. Heads find it, and compare prefixes of up to eight bytes whole. Only among longer
  // prefixes that share the key's head do texts decide.
  [[nodiscard]] std::size_t find(std::string_view key) const noexcept {
    const std::uint64_t head = index::head_of(key, 0);
    const auto behind = std::ranges::upper_bound(entries_, head, {}, &Entry::head);
    if (behind == entries_.begin()) {
      return kNone;
    }
    auto at = static_cast<std::size_t>(behind - entries_.begin()) - 1;
    if (entries_[at].head == head && entries_[at].bytes > sizeof(head)) {
      at = last_not_above(key);
    }
    while (at != kNone && !begins_with(key, head, at)) {
      at = entries_[at].within;
    }
    return at;
  }

 private:
  struct Entry {
    std::uint64_t head;
    std::uint64_t mask;  ///< of the head's bytes that belong to the prefix
    std::size_t bytes;
    std::size_t within;  ///< the longest other prefix that this one begins with
  };
  [[nodiscard]] bool begins_with(std::string_view key, std::uint64_t head, std::size_t at) const noexcept {
    const Entry& entry = entries_[at];
    return (head & entry.mask) == entry.head && key.size() >= entry.bytes &&
           (entry.bytes <= sizeof(head) || key.starts_with(texts_[at]));
  }
  [[nodiscard]] std::size_t last_not_above(std::string_view key) const noexcept;

  std::vector<Entry> entries_;
  std::vector<std::string> texts_;
};

/// One worker's counts. Thread-safety: owner worker only, but for value().
class QuotaTally {
 public:
  explicit QuotaTally(const QuotaPrefixes& prefixes);

  /// An item has come into the tree, in the place of `old`, null if there was none. Returns its quota, or kNone.
  std::size_t put(const Item& item, const Item* old) noexcept;
  /// The same for an item that was put for a client's request to store it.
  void stored(const Item& item, const Item* old) noexcept;
  void removed(const Item& item) noexcept;
  void add(std::size_t quota, quota_count which, std::uint64_t n) noexcept {
    auto& value = lines_[quota].values[static_cast<std::size_t>(which)];
    value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  /// Counts one event of a key.
  void count(std::string_view key, quota_count which) noexcept;

  [[nodiscard]] std::uint64_t value(std::size_t quota, quota_count which) const noexcept {
    return lines_[quota].values[static_cast<std::size_t>(which)].load(std::memory_order_relaxed);
  }
  /// The part of the charge that this worker has added; below 0 it wraps around.
  [[nodiscard]] std::uint64_t charge(std::size_t quota) const noexcept {
    return value(quota, quota_count::bytes) + kBesideItem * value(quota, quota_count::items);
  }
  /// Whether so much was put since the last call of looked() that the limits should be looked at before the usual time.
  [[nodiscard]] bool has_put_much() const noexcept { return put_bytes_ > kMuch; }
  void looked() noexcept { put_bytes_ = 0; }
  /// The same since the last call of publish().
  [[nodiscard]] std::uint64_t unpublished(std::size_t quota) const noexcept {
    return charge(quota) - published_[quota];
  }
  /// Returns unpublished(), which is 0 from then on.
  [[nodiscard]] std::uint64_t publish(std::size_t quota) noexcept {
    const std::uint64_t fresh = unpublished(quota);
    published_[quota] += fresh;
    return fresh;
  }

 private:
  /// Single writer, relaxed.
  struct alignas(runtime::kCacheLineBytes) Line {
    std::array<std::atomic<std::uint64_t>, kQuotaCounts> values{};
  };
  static_assert(static_cast<std::size_t>(quota_count::ghost_returns) <
                    runtime::kCacheLineBytes / sizeof(std::uint64_t),
                "a write touches one line of its worker");

  static constexpr std::uint64_t kMuch = std::uint64_t{64} << 10U;

  const QuotaPrefixes& prefixes_;
  std::uint64_t put_bytes_ = 0;
  std::unique_ptr<Line[]> lines_;
  std::vector<std::uint64_t> published_;
};

/// One a store that has quotas. Thread-safety: any thread.
class Quotas {
 public:
  /// Start-up only. The prefixes differ, and none is empty.
  Quotas(const std::vector<QuotaOptions>& options, std::size_t workers);

  /// New limits for the same prefixes, in any order.
  void set_limits(const std::vector<QuotaOptions>& options) noexcept;

  [[nodiscard]] const QuotaPrefixes& prefixes() const noexcept { return prefixes_; }
  [[nodiscard]] std::size_t size() const noexcept { return prefixes_.size(); }
  [[nodiscard]] QuotaTally& tally(std::size_t worker) noexcept { return tallies_[worker]; }

  /// Sum of a count over all workers.
  [[nodiscard]] std::uint64_t total(std::size_t quota, quota_count which) const noexcept;
  /// The exact charge.
  [[nodiscard]] std::uint64_t charge(std::size_t quota) const noexcept {
    return total(quota, quota_count::bytes) + kBesideItem * total(quota, quota_count::items);
  }
  [[nodiscard]] QuotaOptions options(std::size_t quota) const;

  // Relaxed: they bound by themselves, and order nothing.

  /// Publishes a worker's changes, and returns the charge as far as it is published.
  std::uint64_t publish(std::size_t quota, QuotaTally& tally) noexcept;
  /// The charge as far as it is published.
  [[nodiscard]] std::uint64_t published(std::size_t quota) const noexcept {
    return least_0(shared_[quota].charge.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::uint64_t most(std::size_t quota) const noexcept {
    return shared_[quota].most.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool evicts(std::size_t quota) const noexcept {
    return shared_[quota].evicts.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool weighs_size(std::size_t quota) const noexcept {
    return shared_[quota].weighs_size.load(std::memory_order_relaxed);
  }
  /// Whether the need of others takes nothing of the key's quota now.
  [[nodiscard]] bool keeps(std::string_view key) const noexcept;
  /// Whether a write that makes the key's quota larger has to be refused, behind others of `before` bytes. On the worker
  /// of the tally.
  [[nodiscard]] bool refuses(std::string_view key, const QuotaTally& tally,
                             std::uint64_t before = 0) const noexcept {
    return leaves_less_than(key, tally, before, 0);
  }
  /// Whether it may have to be refused soon. The same.
  [[nodiscard]] bool may_refuse(std::string_view key, const QuotaTally& tally) const noexcept {
    return leaves_less_than(key, tally, 0, kNearLimitPart);
  }
  /// A quota is near its limit when less than this part of it is left.
  static constexpr std::uint64_t kNearLimitPart = 8;

 private:
  struct alignas(runtime::kCacheLineBytes) Shared {
    /// Published parts; a removal may be published before its item was: then it wraps around for a while.
    std::atomic<std::uint64_t> charge{0};
    std::atomic<std::uint64_t> most{QuotaOptions::kNoLimit};
    std::atomic<std::uint64_t> keep{0};
    std::atomic<bool> evicts{true};
    std::atomic<bool> weighs_size{true};
  };
  /// Whether the key's quota refuses writes, and less than a part of its limit is left (0: nothing).
  [[nodiscard]] bool leaves_less_than(std::string_view key, const QuotaTally& tally, std::uint64_t before,
                                      std::uint64_t part) const noexcept;
  static std::uint64_t least_0(std::uint64_t charge) noexcept {
    return static_cast<std::int64_t>(charge) < 0 ? 0 : charge;
  }

  QuotaPrefixes prefixes_;
  std::unique_ptr<Shared[]> shared_;
  std::atomic<bool> any_keeps_{false};
  std::deque<QuotaTally> tallies_;
};

}  // namespace mxkv::server
