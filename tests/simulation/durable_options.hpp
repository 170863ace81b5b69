// The settings that a seed draws for a durable store before it begins, and the counts of its events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/journal/journal_writer.hpp"
#include "tests/simulation/feed_world.hpp"
#include "tests/simulation/store_world_options.hpp"

namespace mxkv::simulation {

/// Made on purpose: the simulation has to find it.
enum class durable_mistake : std::uint8_t {
  none,
  end_is_not_kept,        ///< no manifest says which segment is the newest
  end_is_kept_too_early,  ///< the manifest names a segment that was not begun
  keys_mint_alone,        ///< in a batch an order is above the earlier orders of its own key only
  tag_is_not_compared,    ///< a reader's position counts by its epoch alone
  hole_is_passed_over,    ///< a reader that hears `old` goes on as if nothing was missing
  watch_passes_hole,      ///< the herald does
};

struct DurableOptions {
  StoreWorldOptions store;
  durable_mistake mistake = durable_mistake::none;
  server::JournalMode mode;
  bool exact = true;  ///< reads show data on disk only: so the clients' history explains what a start finds
  bool clock_back = false;  ///< the next process may begin at an earlier time
  bool delayed = false;     ///< flushes that are set for later
  bool large = false;       ///< values that the journal refers to
  std::uint64_t segment_bytes = 0;
  std::uint64_t checkpoint_in = 0;  ///< how rarely one begins
  std::uint64_t history_bytes = 0;  ///< of the journal
  std::uint32_t parts = 1;
  unsigned generations = 2;
};

[[nodiscard]] DurableOptions draw_durable_world(runtime::Random& random);
/// For a failure's message.
[[nodiscard]] std::string describe(const DurableOptions& options);

/// The events of a world, or of several.
struct DurableReport {
  std::vector<std::string> complaints;
  std::uint64_t fingerprint = 0;
  std::uint64_t starts = 0;        ///< that recovered something
  std::uint64_t operations = 0;    ///< of which histories were searched
  std::uint64_t given_up = 0;      ///< such searches
  std::uint64_t released = 0;      ///< generations in which replies had waited for the disk
  std::uint64_t lost_changes = 0;  ///< that no start found again
  std::uint64_t groups = 0;        ///< changes of many keys
  std::uint64_t cuts = 0;          ///< of the power, as what follows
  std::uint64_t kills = 0;         ///< of the process
  std::uint64_t clean_ends = 0;
  std::uint64_t cut_starts = 0;       ///< amid a recovery, or before the first group
  std::uint64_t cut_checkpoints = 0;  ///< while a checkpoint went on
  std::uint64_t cut_renames = 0;      ///< at one
  std::uint64_t full_starts = 0;      ///< that served while the disk was full
  std::uint64_t full_refusals = 0;    ///< starts for which it was too full
  std::uint64_t lost_newest = 0;      ///< starts that were refused since the newest segment was lost
  std::uint64_t torn = 0;             ///< tails that a start cut
  std::uint64_t gaps = 0;             ///< that a start met
  std::uint64_t failures = 0;         ///< of the journal
  std::uint64_t rebased = 0;          ///< and it was made whole again
  std::uint64_t no_space = 0;         ///< tries that found none
  std::uint64_t refusals = 0;         ///< and served again
  std::uint64_t checkpoints = 0;
  std::uint64_t failed_checkpoints = 0;
  std::uint64_t from_checkpoint = 0;  ///< starts that found one
  std::uint64_t amid = 0;             ///< checkpoints begun while a change had passed and was not in the tree
  std::uint64_t recycled = 0;         ///< segments
  std::uint64_t removed = 0;          ///< segments
  std::uint64_t told = 0;             ///< epochs that the reader of changes has read
  std::uint64_t told_later = 0;       ///< of these, written by an earlier process
  std::uint64_t told_batches = 0;
  std::uint64_t resumed = 0;  ///< positions that a later process took
  std::uint64_t old = 0;      ///< how often the reader heard that changes were gone
  std::uint64_t lost = 0;     ///< and that its history never became durable
  FeedReport watches;         ///< of ranges; complaints are in `complaints`

  void add(const DurableReport& other);
};

}  // namespace mxkv::simulation
