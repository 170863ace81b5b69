// A world with a whole store, that a seed decides: clients that ask for single keys, ranges and batches,
// workers that are slow, preempted or left alone, maps of keys to slots that change under way, items that
// expire, move or are evicted, memory that runs out, clients that go away.
//
// At its end the world looks whether the history of all keys is linearizable, with operations on many keys as
// one, and whether nothing is held and all memory came back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/store_ledger.hpp"

namespace mxkv::simulation {

/// Mistakes that a test makes on purpose.
enum class store_fault : std::uint8_t {
  none,
  unasked_write,  ///< some writes do not ask whether their key is held
  torn_page,      ///< a locked page is run without the lock
  torn_count,     ///< and a count
  half_batch,     ///< a batch is done, and said to have failed
  kept_slot,      ///< a slot that is never opened again
  lost_item,      ///< an item vanishes without being removed
};

/// The events of a world, or of several.
struct StoreReport {
  std::vector<std::string> complaints;
  std::uint64_t fingerprint = 0;  ///< the same for the same seed
  bool by_address = false;        ///< except in a world that evicts whole spans, by their addresses
  std::uint64_t recorded = 0;     ///< operations
  std::uint64_t given_up = 0;     ///< searches for an explanation
  std::uint64_t batches = 0;
  std::uint64_t failed_batches = 0;
  std::uint64_t refused_lines = 0;  ///< for want of memory, as the next three
  std::uint64_t refused_batches = 0;
  std::uint64_t refused_midway = 0;  ///< batches that got as far as making their items
  std::uint64_t refused_touches = 0;
  std::uint64_t pages = 0;  ///< locked, as the next
  std::uint64_t counts = 0;
  std::uint64_t erased = 0;
  std::uint64_t touched = 0;
  std::uint64_t cut_off = 0;
  std::uint64_t parked_writes = 0;  ///< at the gate
  std::uint64_t of_many_buckets = 0;
  std::uint64_t in_inner_mode = 0;
  std::uint64_t followed = 0;  ///< operations that went with others
  std::uint64_t shared = 0;    ///< or side by side with them
  std::uint64_t maps = 0;      ///< drawn
  std::uint64_t slots = 0;     ///< at the end
  std::uint64_t deep_trees = 0;
  std::uint64_t moved = 0;
  std::uint64_t evicted = 0;
  std::uint64_t reclaimed = 0;  ///< expired items that were met
  std::uint64_t swept = 0;      ///< or found by a sweep
  std::uint64_t preempted = 0;  ///< writes under their latch
  std::uint64_t interruptions = 0;
  PassedChanges changes;                 ///< as the commit point passed them
  std::uint64_t longest_standstill = 0;  ///< rounds of a calm world in which no operation ended; the longest

  void add(const StoreReport& other);
};

/// Runs the world of that seed to its end.
[[nodiscard]] StoreReport run_store_world(std::uint64_t seed, store_fault what = store_fault::none);

}  // namespace mxkv::simulation
