// What the numbers of `stats memory` mean: what is short, what is wasted, and what to do about it, in plain words.
//
// A pure function of numbers, so that each rule is tested without provoking it. Bounds are coarse on purpose: what is told
// here is worth a look, and what is usual is not told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mxkv::server {

/// Bytes, where nothing else is said.
struct MemoryFacts {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
  bool evicts = true;             ///< memory.when_full
  bool evacuates = true;          ///< memory.evacuation
  std::uint64_t evictions = 0;    ///< items, ever
  std::uint64_t refusals = 0;     ///< writes refused for lack of memory, ever
  std::uint64_t item_spans = 0;   ///< held for items
  std::uint64_t item_blocks = 0;  ///< of these, in use
  std::uint64_t unread = 0;  ///< replies that clients have not taken, values that they keep alive among them
  std::uint64_t unfinished = 0;  ///< requests that have not come whole
  std::uint64_t retired = 0;     ///< waits for its epoch
  std::uint64_t expired = 0;     ///< of items that are expired and still there, about
  std::uint64_t items = 0;       ///< of all items
  std::uint64_t unplaced = 0;    ///< arenas whose memory is not of the NUMA node that it was asked of
};

/// What is worth a look, a sentence each, the most pressing first; "all is well" if nothing is.
[[nodiscard]] std::vector<std::string> memory_verdict(const MemoryFacts& facts);

}  // namespace mxkv::server
