// Replay: what the journal says of each key, merged with a checkpoint's items, gives the items that live. Pure:
// it reads bytes and calls a sink.
//
// The records of a key are totally ordered by their order, whatever epoch or worker they are of. So a key's
// last put or gone decides whether there is an item, range deletes and flushes with a greater order take it
// away again, and touches above it, by order, tell its expiry. An item of a checkpoint counts like the put
// that it came from: it may be older or newer than any record.
//
//   entries of one key range, sorted by key and order     k1 put 5   k1 touch 7   k2 gone 9
//   the checkpoint's items of that range, by key          k1 put 5   k2 put 3     k3 put 2
//   ranges that concern the key, flushes                  mx X of k3..k9 with order 8
//   what the sink gets                                    k1, with the touch's expiry
//
// Keys are compared by their eight bytes behind what all keys of the range begin with; bytes are looked at
// where those tie.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "index/key.hpp"
#include "server/durability/range_operations.hpp"
#include "server/journal/record.hpp"

namespace mxkv::server {

/// A record of one key, as it stands in a journal.
struct KeyRecord {
  std::uint64_t head = 0;   ///< of its key, behind what the keys of its range share
  std::uint64_t order = 0;  ///< and below it, the type
  const char* record = nullptr;

  static constexpr unsigned kTypeBits = 2;

  /// A put, gone or touch that was read from `record`.
  static KeyRecord of(std::string_view key, std::size_t shared, std::uint64_t order, record_type type,
                      const char* record) noexcept {
    return {index::head_of(key, shared), order << kTypeBits | static_cast<std::uint64_t>(type), record};
  }
  [[nodiscard]] std::uint64_t number() const noexcept { return order >> kTypeBits; }
  [[nodiscard]] record_type type() const noexcept {
    return static_cast<record_type>(order & ((1U << kTypeBits) - 1));
  }
  [[nodiscard]] std::string_view key() const noexcept;
};
static_assert(kOrderBits + KeyRecord::kTypeBits <= 64 && static_cast<unsigned>(record_type::touch) == 3);

/// A put that was read, with the place of a value that is apart.
struct StoredItem {
  PutRecord put;
  const char* apart = nullptr;  ///< the first block of the value, where put.apart_bytes is not 0
};

/// A put that stands in a journal whose block was validated. Its value's blocks follow the record.
[[nodiscard]] StoredItem read_put_at(const char* record) noexcept;

/// A checkpoint's items, in key order.
class StoredItems {
 public:
  virtual ~StoredItems() = default;
  /// The one that it stands at; null: behind the last. Good until next().
  [[nodiscard]] virtual const StoredItem* at() const noexcept = 0;
  virtual void next() = 0;
};

/// Takes what lives.
class ReplaySink {
 public:
  virtual ~ReplaySink() = default;
  /// In key order, each key once. The expiry is what it is now. False: no more is wanted.
  virtual bool item(const StoredItem& item) = 0;
};

/// What a merge met.
struct ReplayCounts {
  std::uint64_t items = 0;    ///< that live
  std::uint64_t expired = 0;  ///< that were there but for their time

  ReplayCounts& operator+=(const ReplayCounts& other) noexcept {
    items += other.items;
    expired += other.expired;
    return *this;
  }
};

/// Merges one key range. Thread-safety: one thread; ranges beside each other share the operations.
class Replay {
 public:
  /// `now_us`: by the wall clock, at which items are judged.
  Replay(const RangeOperations& operations, std::uint64_t now_us) noexcept
      : operations_(operations), ranges_(operations), now_us_(now_us) {}

  /// `records`, in any order, are sorted in place. `shared`: bytes that all keys begin with, as their heads
  /// were made. `base` may be null. False: the sink wanted no more.
  [[nodiscard]] bool merge(std::vector<KeyRecord>& records, std::size_t shared, StoredItems* base,
                           ReplaySink& sink);

  [[nodiscard]] const ReplayCounts& counts() const noexcept { return counts_; }

 private:
  /// What all that is known of a key leaves. `base`: the checkpoint's item, or null. False: as merge().
  bool settle(const KeyRecord* first, const KeyRecord* last, const StoredItem* base, ReplaySink& sink);
  /// What touches of the key and of its ranges made of the item: its expiry and its access age.
  void apply_touches(StoredItem& item, const KeyRecord* first, const KeyRecord* last) const noexcept;

  const RangeOperations& operations_;
  RangesAtKey ranges_;
  std::uint64_t now_us_;
  ReplayCounts counts_;
};

}  // namespace mxkv::server
