#include "server/stats/class_stats.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "runtime/memory/size_classes.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/stats/memory_stats.hpp"
#include "server/stats/stat_text.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

/// Names of memcached's LRU lists and their crawler, which mxkv does not have.
constexpr std::array kListNames{"number_hot",
                                "number_warm",
                                "number_cold",
                                "age_hot",
                                "age_warm",
                                "age",
                                "evicted_nonzero",
                                "evicted_time",
                                "tailrepairs",
                                "evicted_active",
                                "crawler_items_checked",
                                "moves_to_cold",
                                "lrutail_reflocked",
                                "moves_within_lru",
                                "moves_to_warm",
                                "direct_reclaims",
                                "hits_to_hot",
                                "hits_to_warm",
                                "hits_to_cold",
                                "hits_to_temp"};

constexpr std::array kCommandNames{
    std::pair{counter::get_hits, "get_hits"},       std::pair{counter::cmd_set, "cmd_set"},
    std::pair{counter::delete_hits, "delete_hits"}, std::pair{counter::incr_hits, "incr_hits"},
    std::pair{counter::decr_hits, "decr_hits"},     std::pair{counter::cas_hits, "cas_hits"},
    std::pair{counter::cas_badval, "cas_badval"},   std::pair{counter::touch_hits, "touch_hits"},
};

}  // namespace

std::vector<std::uint64_t> shared_out(std::uint64_t whole, const std::vector<std::uint64_t>& weights) {
  const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<std::uint64_t> parts;
  std::uint64_t passed = 0;  // sum of the weights so far
  std::uint64_t given = 0;
  for (const std::uint64_t weight : weights) {
    passed += weight;
    // Computed from the sum so far, so that rounding errors do not add up.
    const double part = sum == 0 ? 0 : static_cast<double>(passed) / static_cast<double>(sum);
    const auto up_to = static_cast<std::uint64_t>(part * static_cast<double>(whole));
    parts.push_back(up_to - given);
    given = up_to;
  }
  return parts;
}

void add_item_stats(StatText& text, runtime::Runtime& runtime, const Store& store, std::uint64_t items,
                    std::uint64_t bytes) {
  if (items == 0) {
    return;
  }
  std::vector<std::uint64_t> blocks;
  std::vector<std::uint64_t> block_bytes;
  std::vector<bool> shown;
  for (std::size_t size_class = 0; size_class < runtime::kSizeClasses; ++size_class) {
    const runtime::ValueClassStats sum = sum_of_class(runtime, size_class);
    blocks.push_back(sum.live_blocks);
    block_bytes.push_back(sum.live_blocks * sum.block_bytes);
    shown.push_back(sum.spans != 0 || size_class == 0);
  }
  const std::vector<std::uint64_t> numbers = shared_out(items, blocks);
  const std::vector<std::uint64_t> sizes = shared_out(bytes, block_bytes);
  for (std::size_t size_class = 0; size_class < runtime::kSizeClasses; ++size_class) {
    if (!shown[size_class]) {
      continue;
    }
    const std::string prefix = "items:" + std::to_string(size_class + 1) + ":";
    const auto total = [&](counter which) { return size_class == 0 ? store.total(which) : 0; };
    text.add(prefix + "number", numbers[size_class]);
    text.add(prefix + "mem_requested", sizes[size_class]);
    text.add(prefix + "outofmemory", total(counter::store_no_memory));
    text.add(prefix + "evicted", total(counter::evictions));
    text.add(prefix + "evicted_unfetched", total(counter::evicted_unfetched));
    text.add(prefix + "reclaimed", total(counter::reclaimed));
    text.add(prefix + "expired_unfetched", total(counter::expired_unfetched));
    text.add(prefix + "crawler_reclaimed", total(counter::swept_items));
    for (const char* name : kListNames) {
      text.add(prefix + name, 0);
    }
  }
}

void add_slab_stats(StatText& text, runtime::Runtime& runtime, const Store& store) {
  std::size_t active = 0;
  for (std::size_t size_class = 0; size_class < runtime::kSizeClasses; ++size_class) {
    const runtime::ValueClassStats sum = sum_of_class(runtime, size_class);
    if (sum.spans == 0) {
      continue;
    }
    const std::string prefix = std::to_string(size_class + 1) + ":";
    const std::size_t in_page = std::max<std::size_t>(runtime::kSpanBytes / sum.block_bytes, 1);
    const std::size_t chunks = std::max(sum.spans * in_page, sum.live_blocks);
    text.add(prefix + "chunk_size", sum.block_bytes);
    text.add(prefix + "chunks_per_page", in_page);
    text.add(prefix + "total_pages", sum.spans);
    text.add(prefix + "total_chunks", chunks);
    text.add(prefix + "used_chunks", sum.live_blocks);
    text.add(prefix + "free_chunks", chunks - sum.live_blocks);
    text.add(prefix + "free_chunks_end", 0);
    for (const auto& [which, name] : kCommandNames) {
      text.add(prefix + name, active == 0 ? store.total(which) : 0);
    }
    ++active;
  }
  text.add("active_slabs", active);
  text.add("total_malloced", runtime.budget().category_bytes(runtime::memory_category::items));
}

void add_size_stats(StatText& text, runtime::Runtime& runtime) {
  for (std::size_t size_class = 0; size_class < runtime::kSizeClasses; ++size_class) {
    const runtime::ValueClassStats sum = sum_of_class(runtime, size_class);
    if (sum.live_blocks != 0) {
      text.add(std::to_string(sum.block_bytes), sum.live_blocks);
    }
  }
}

}  // namespace mxkv::server
