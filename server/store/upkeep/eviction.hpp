// Eviction: when memory runs short, the items that nobody has read for longest make room.
//
// Each worker sees to its own heap. When what it could still hand out falls below its share of the headroom
// it walks over the leaves from where it stopped last, notes how long the items it meets have been idle
// (IdleTimes), and starts the removal of those that are among the idlest tenth, until it has seen to what is
// missing; a larger part when little is left. An item that nobody has read since it was stored counts as idle
// for longer than it was: most of those are never read. A scan by a client notes no access, so it keeps
// nothing and pushes nothing out. Expired items that are met go too.
//
// The first walk, when memory begins to be short (again), removes nothing: it learns how idle items are.
// Neighbours are often of an age, so what a short walk learns says little of the others. What was learnt may
// be of items that have gone since, so a walk over all leaves that finds too little is followed by a bolder
// one, up to one that spares nothing.
//
// That makes room for items of the sizes that there are. When the tree, the buffers or items of other sizes
// need memory, whole spans have to go back: then one worker walks over all leaves, removes what is idlest,
// and moves the rest of what lies in some of the spans to others. Two walks see to the same spans: what the
// first one removes makes room for what the second one moves. Chunks of large values are all of one size, so
// when one is refused it is enough that the idlest large values go.
//
// A removed item's memory becomes free when an epoch has passed, usually within 50 ms. While a request waits, each worker
// reclaims what it has retired every millisecond, and parked workers are woken for it. The next walk for spans begins as soon
// as all of that is free. Where the request is still refused the walk takes twice as much as the last one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "protocol/request.hpp"
#include "server/store/upkeep/idle_times.hpp"
#include "server/store/upkeep/shortage.hpp"

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class Item;
class StoreState;

/// What the workers tell each other. Relaxed: it orders nothing.
struct EvictionShared {
  std::atomic<bool> giving_back{false};           ///< some worker walks for spans
  std::atomic<std::uint64_t> last_removal_ns{0};  ///< when a walk last ended that had removed something
  std::atomic<std::uint64_t> refused_ns{0};       ///< when memory was last refused to a request
};

/// One a worker. Thread-safety: owner worker only.
class Eviction {
 public:
  explicit Eviction(EvictionShared& shared) noexcept : shared_(shared) {}

  /// To be called often; looks at the heap every millisecond.
  void tick(StoreState& store, runtime::Worker& worker) {
    if (now_ns(worker) >= next_reclaim_ns_) [[unlikely]] {
      reclaim(worker);
    }
    if (now_ns(worker) >= next_look_ns_) [[unlikely]] {
      begin(store, worker);
    }
  }
  /// An allocation was refused: what is free does not fit it. So spans have to go back, or, for a chunk of a
  /// large value, other large values have to go. False: that was so for too long already, and no walk is
  /// under way that may change it.
  [[nodiscard]] bool refused(runtime::Worker& worker, shortage what) noexcept;

  // For the walk.

  enum class verdict : std::uint8_t { stays, goes, moves };
  /// What becomes of an item that is met.
  [[nodiscard]] verdict judge(const Item& item, std::uint64_t now_us) noexcept;
  /// A removal was started of so many bytes. False: that is enough.
  [[nodiscard]] bool started(std::size_t bytes) noexcept;
  /// The walk has come to an end, at this key or behind the last one (empty).
  void ended(std::string_view key, runtime::Worker& worker) noexcept;
  /// The walk goes on there in a while.
  void pauses(std::string_view key) noexcept;
  /// Where the walk begins.
  [[nodiscard]] std::string_view hand() const noexcept { return {hand_.data(), hand_bytes_}; }

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
  void walk(purpose why, StoreState& store, runtime::Worker& worker);

  EvictionShared& shared_;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t last_walk_ns_ = 0;
  std::uint64_t gave_back_ns_ = 0;  ///< when a walk for spans last ended
  std::uint64_t next_reclaim_ns_ = 0;
  std::uint64_t next_chunks_ns_ = 0;
  std::uint64_t short_since_ns_ = 0;  ///< the first refusal of those that followed each other; 0: none
  bool wants_spans_ = false;          ///< a block was refused
  bool wants_chunks_ = false;         ///< a chunk was refused
  std::uint64_t last_refusal_ns_ = 0;
  std::uint64_t missing_ = 0;  ///< bytes that the walk has still to see to
  IdleTimes times_;
  std::uint64_t flushes_ = ~std::uint64_t{0};  ///< before the items that `times_` is of
  std::uint64_t added_ = 0;                    ///< items ever, at the last census
  int fruitless_laps_ = 0;                     ///< of walks for idle or large items, in a row
  bool whole_lap_ = false;                     ///< the walk goes over all leaves
  bool removed_ = false;                       ///< by this walk
  purpose purpose_ = purpose::none;            ///< of the walk
  bool second_walk_ = false;                   ///< for the same spans
  std::uint8_t first_marked_ = 0;              ///< of 256 groups of spans, those that are to go
  std::uint8_t marked_ = 0;
  std::uint8_t hand_bytes_ = 0;
  std::array<char, protocol::kMaxKeyBytes> hand_{};
};

}  // namespace mxkv::server
