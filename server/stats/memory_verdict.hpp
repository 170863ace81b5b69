// Interprets the numbers of `stats memory` in plain words: which memory is short or wasted, and what to do
// about it.
//
// A pure function of numbers, so each rule is tested without provoking the situation. Bounds are coarse on
// purpose: each line is worth a look, and usual values give no line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mxkv::server {

/// In bytes, unless a field says otherwise.
struct MemoryFacts {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
  bool evicts = true;             ///< memory.when_full
  bool evacuates = true;          ///< memory.evacuation
  std::uint64_t evictions = 0;    ///< items, ever
  std::uint64_t refusals = 0;     ///< writes refused for lack of memory, ever
  std::uint64_t item_spans = 0;   ///< held for items
  std::uint64_t item_blocks = 0;  ///< of these, in use
  std::uint64_t unread = 0;  ///< replies that clients have not read, with the values that these keep alive
  std::uint64_t unfinished = 0;  ///< requests that are not complete yet
  std::uint64_t retired = 0;     ///< freed, but waiting for its epoch
  std::uint64_t expired = 0;     ///< about, of expired items that are still in the tree
  std::uint64_t items = 0;       ///< of all items
  std::uint64_t unplaced = 0;    ///< arenas whose memory is not on the NUMA node that was asked for
};

/// Findings worth a look, a sentence each, the most pressing first; "all is well" if there are none.
[[nodiscard]] std::vector<std::string> memory_verdict(const MemoryFacts& facts);

}  // namespace mxkv::server
