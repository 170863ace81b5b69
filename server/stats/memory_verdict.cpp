#include "server/stats/memory_verdict.hpp"

#include <algorithm>
#include <utility>

#include "config/parse.hpp"

namespace mxkv::server {

namespace {

// Above these parts of the whole a line is written.
constexpr std::uint64_t kNearlyFullPerCent = 90;  // eviction keeps some of it free
constexpr std::uint64_t kSparePerCent = 30;       // of the bytes held for items
constexpr std::uint64_t kWorthALookPerCent = 2;   // of the limit: spare, unread, unfinished, retired
constexpr std::uint64_t kExpiredPerCent = 20;     // of the items

bool above(std::uint64_t part, std::uint64_t per_cent, std::uint64_t whole) {
  return part / per_cent >= whole / 100 && part > 0;
}

std::string size(std::uint64_t bytes) {
  return config::format_size_rounded(bytes);
}

std::string of_fullness(const MemoryFacts& facts) {
  if (!above(facts.used, kNearlyFullPerCent, facts.limit)) {
    return {};
  }
  const std::string text = "memory is full: " + size(facts.used) + " of " + size(facts.limit) + "; ";
  if (!facts.evicts) {
    return text + std::to_string(facts.refusals) + " writes were refused (memory.when_full: error)";
  }
  return facts.evictions == 0
             ? text + "items will be evicted soon"
             : text + std::to_string(facts.evictions) +
                   " items were evicted so far: if clients miss them (get_misses), raise memory.limit";
}

}  // namespace

std::vector<std::string> memory_verdict(const MemoryFacts& facts) {
  std::vector<std::string> lines;
  if (std::string full = of_fullness(facts); !full.empty()) {
    lines.push_back(std::move(full));
  }
  const std::uint64_t spare = facts.item_spans - std::min(facts.item_spans, facts.item_blocks);
  if (above(spare, kSparePerCent, facts.item_spans) && above(spare, kWorthALookPerCent, facts.limit)) {
    lines.push_back("fragmented: " + size(spare) + " of " + size(facts.item_spans) +
                    " held for items are unused; " +
                    (facts.evacuates ? "items are moved together in the background"
                                     : "memory.evacuation: true would move items together"));
  }
  if (above(facts.unread, kWorthALookPerCent, facts.limit)) {
    lines.push_back("clients read slowly: " + size(facts.unread) +
                    " of replies wait for clients that do not read (stats conns: state conn_mwrite)");
  }
  if (above(facts.unfinished, kWorthALookPerCent, facts.limit)) {
    lines.push_back("requests arrive slowly: " + size(facts.unfinished) +
                    " hold parts of unfinished requests");
  }
  if (above(facts.retired, kWorthALookPerCent, facts.limit)) {
    lines.push_back("freed memory waits: " + size(facts.retired) +
                    "; a worker that hangs, or gets no CPU, holds it back (stats runtime: stuck, tasks)");
  }
  if (above(facts.expired, kExpiredPerCent, facts.items)) {
    lines.push_back("about " + size(facts.expired) + " of " + size(facts.items) +
                    " of item memory hold expired items; a sweep will remove them");
  }
  if (facts.unplaced > 0) {
    lines.push_back(std::to_string(facts.unplaced) +
                    " arenas of memory could not be placed on their NUMA node: the system refused mbind");
  }
  if (lines.empty()) {
    lines.emplace_back("all is well");
  }
  return lines;
}

}  // namespace mxkv::server
