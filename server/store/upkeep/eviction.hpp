// Eviction: when memory runs short, items that were read seldom, not for long, or are large make room.
//
// Each worker looks after its own heap. When its free memory falls below its share of the headroom, it walks
// over the leaves from where it last stopped, and notes the scores of the items it meets
// (eviction_scores.hpp). It starts to remove the items among the worst tenth, or a larger part when little
// memory is left, until it has started enough. A client's scan notes no access, so it neither keeps items nor
// pushes others out. The walk also removes expired items.
//
// The first walk after memory becomes short (again) removes nothing: it is a census of scores.
// Neighbouring keys often have the same age, so a short walk learns little about the other items. The census
// may soon be out of date, so after a walk over all leaves that found too little, the next one is bolder, up
// to one that spares nothing.
//
// This makes room for items of the existing sizes. When the tree, the buffers or items of other sizes need
// memory, whole spans have to be given back. Then one worker walks over all leaves, removes the worst items,
// and moves the other items of some spans elsewhere. Two walks treat the same spans: the removals of the
// first one make room for the moves of the second one. Chunks of large values all have one size, so when a
// chunk is refused, removing the worst large values is enough. They are compared with each other alone: beside
// small items most of them would be among the worst.
//
// A removed item's memory becomes free when an epoch has passed, usually within 50 ms. While a request waits,
// each worker reclaims its retired items every millisecond, and parked workers are woken for it. The next
// walk for spans begins as soon as all that memory is free. If the request is still refused, that walk
// empties twice as many spans as the last one.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "server/store/upkeep/eviction_scores.hpp"
#include "server/store/upkeep/shortage.hpp"
#include "server/store/upkeep/walk_hand.hpp"

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class Item;
class StoreState;

/// State that the workers share. Relaxed: it orders nothing.
struct EvictionShared {
  std::atomic<bool> giving_back{false};           ///< a worker walks for spans
  std::atomic<std::uint64_t> last_removal_ns{0};  ///< the end of the last walk that removed items
  std::atomic<std::uint64_t> refused_ns{0};       ///< when a request was last refused memory
  std::atomic<bool> weighs_size{true};            ///< requests count, not bytes
};

/// One per worker. Thread-safety: owner worker only.
class Eviction final : public WalkHand {
 public:
  static constexpr const char* kWalk = "walk for eviction";
  static constexpr unsigned kItemLines = 1;

  explicit Eviction(EvictionShared& shared) noexcept : shared_(shared) {}

  /// Call it often; it looks at the heap every millisecond.
  void tick(StoreState& store, runtime::Worker& worker) {
    if (now_ns(worker) >= next_reclaim_ns_) [[unlikely]] {
      reclaim(worker);
    }
    if (now_ns(worker) >= next_look_ns_) [[unlikely]] {
      begin(store, worker);
    }
  }
  /// Call this when an allocation was refused, because no free memory fits it. Then spans have to be given
  /// back or, for a chunk of a large value, other large values removed. Returns false if this has lasted too
  /// long and no walk is under way that may help.
  [[nodiscard]] bool refused(runtime::Worker& worker, shortage what) noexcept;

  // For the walk, see eviction_walk.hpp.

  [[nodiscard]] walk_verdict judge(const Item& item, runtime::Worker& worker) noexcept;
  [[nodiscard]] bool started(std::size_t bytes) noexcept;
  void ended(std::string_view key, runtime::Worker& worker) noexcept;

 private:
  enum class purpose : std::uint8_t { none, census, idle, chunks, spans };

  static std::uint64_t now_ns(const runtime::Worker& worker) noexcept;
  /// Whether a request waits for memory.
  [[nodiscard]] bool anyone_waits(const runtime::Worker& worker) const noexcept;
  void reclaim(runtime::Worker& worker);
  void begin(StoreState& store, runtime::Worker& worker);
  [[nodiscard]] bool begin_census(bool is_short, StoreState& store, runtime::Worker& worker);
  [[nodiscard]] bool begin_chunks(std::size_t headroom, StoreState& store, runtime::Worker& worker);
  [[nodiscard]] bool begin_giving_back(StoreState& store, runtime::Worker& worker);
  [[nodiscard]] bool is_for_some() const noexcept;
  [[nodiscard]] walk_verdict moves_or_stays(const Item& item) const noexcept;
  void walk(purpose why, StoreState& store, runtime::Worker& worker);

  EvictionShared& shared_;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t last_walk_ns_ = 0;
  std::uint64_t gave_back_ns_ = 0;  ///< when a walk for spans last ended
  std::uint64_t next_reclaim_ns_ = 0;
  std::uint64_t next_chunks_ns_ = 0;
  std::uint64_t short_since_ns_ = 0;  ///< the first refusal of the present series; 0: none
  bool wants_spans_ = false;          ///< a block was refused
  bool wants_chunks_ = false;         ///< a chunk was refused
  std::uint64_t last_refusal_ns_ = 0;
  EvictionScores scores_;
  EvictionScores large_scores_;                ///< of large values
  std::uint64_t large_items_ = 0;              ///< large values that the census met
  std::uint64_t flushes_ = ~std::uint64_t{0};  ///< flushes before the items in `scores_`
  std::uint64_t added_ = 0;                    ///< items ever added, at the last census
  bool removed_ = false;                       ///< by this walk
  purpose purpose_ = purpose::none;            ///< of the walk
  bool second_walk_ = false;                   ///< a second one for the same spans
  std::uint8_t first_marked_ = 0;              ///< of 256 groups of spans, the marked ones are to be emptied
  std::uint8_t marked_ = 0;
};

}  // namespace mxkv::server
