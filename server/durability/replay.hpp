// Replay: merges the journal's records with a checkpoint's items, key by key, and gives the live items. Pure:
// it reads bytes and calls a sink.
//
// The records of a key are totally ordered by their order, in any epoch and from any worker. So a key's last
// put or gone decides whether there is an item. Range deletes and flushes with a greater order remove it
// again; touches with a greater order, in order, decide its expiry. An item of a checkpoint counts as the put
// that it came from: it may be older or newer than any record.
//
//   entries of one key range, sorted by key and order     k1 put 5   k1 touch 7   k2 gone 9
//   the checkpoint's items of that range, by key          k1 put 5   k2 put 3     k3 put 2
//   ranges that concern the key, flushes                  mx X of k3..k9 with order 8
//   passed to the sink                                    k1, with the touch's expiry
//
// Keys are compared by the eight bytes behind the common bytes of their range, and by all bytes only if those
// tie.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "index/key.hpp"
#include "server/commit/record.hpp"
#include "server/durability/range_operations.hpp"

namespace mxkv::server {

/// A record of one key in a journal.
struct KeyRecord {
  std::uint64_t head = 0;   ///< of its key, behind the common bytes of its range
  std::uint64_t order = 0;  ///< and the type in the lowest bits
  const char* record = nullptr;

  static constexpr unsigned kTypeBits = 2;

  /// Of a put, gone or touch that was read from `record`.
  static KeyRecord of(std::string_view key, std::size_t shared, std::uint64_t order, record_type type,
                      const char* record) noexcept {
    return {index::head_of(key, shared), order << kTypeBits | static_cast<std::uint64_t>(type), record};
  }
  [[nodiscard]] std::uint64_t number() const noexcept { return order >> kTypeBits; }
  [[nodiscard]] record_type type() const noexcept {
    return static_cast<record_type>(order & ((1U << kTypeBits) - 1));
  }
  [[nodiscard]] std::string_view key() const noexcept;
  [[nodiscard]] RecordedChange change() const noexcept;
};
static_assert(kOrderBits + KeyRecord::kTypeBits <= 64 && static_cast<unsigned>(record_type::touch) == 3);

/// A put, with the place of its value if that is apart.
struct StoredItem {
  PutRecord put;
  const char* apart = nullptr;  ///< the first block of the value, if put.apart_bytes is not 0
};

/// Reads a put in a validated block of a journal. The blocks of its value follow the record's block.
[[nodiscard]] StoredItem read_put_at(const char* record) noexcept;

/// A checkpoint's items, in key order.
class StoredItems {
 public:
  virtual ~StoredItems() = default;
  /// The current item; null: behind the last. Valid until next().
  [[nodiscard]] virtual const StoredItem* at() const noexcept = 0;
  virtual void next() = 0;
};

/// Takes the live items.
class ReplaySink {
 public:
  virtual ~ReplaySink() = default;
  /// In key order, each key once, with the final expiry. False: the sink wants no more items.
  virtual bool item(const StoredItem& item) = 0;
};

/// The items that a merge met.
struct ReplayCounts {
  std::uint64_t items = 0;    ///< live
  std::uint64_t expired = 0;  ///< not live, since they have expired or a delayed flush took them

  ReplayCounts& operator+=(const ReplayCounts& other) noexcept {
    items += other.items;
    expired += other.expired;
    return *this;
  }
};

/// Merges one key range. Thread-safety: one thread; parallel merges of other ranges share the operations.
class Replay {
 public:
  /// `now_us`: the steady moment at which items must be live.
  Replay(const RangeOperations& operations, std::uint64_t now_us) noexcept
      : operations_(operations), ranges_(operations), now_us_(now_us) {}

  /// Sorts `records`, which may be in any order, in place. `shared`: number of common bytes before the heads
  /// of the keys. `base` may be null. False: the sink wants no more items.
  [[nodiscard]] bool merge(std::vector<KeyRecord>& records, std::size_t shared, StoredItems* base,
                           ReplaySink& sink);

  [[nodiscard]] const ReplayCounts& counts() const noexcept { return counts_; }

 private:
  /// Passes a key's item to the sink if it is live. `base`: the checkpoint's item, or null. False: as
  /// merge().
  bool settle(const KeyRecord* first, const KeyRecord* last, const StoredItem* base, ReplaySink& sink);
  /// Applies the key's last put or gone to the checkpoint's item, if there is one. Nothing: there is no item.
  [[nodiscard]] static std::optional<StoredItem> item_of(const KeyRecord& record, const StoredItem* base);
  /// Applies touches of the key and of its ranges to the item's expiry and access age.
  void apply_touches(StoredItem& item, const KeyRecord* first, const KeyRecord* last) const noexcept;

  const RangeOperations& operations_;
  RangesAtKey ranges_;
  std::uint64_t now_us_;
  ReplayCounts counts_;
};

}  // namespace mxkv::server
