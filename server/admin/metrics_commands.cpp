// Metrics of commands and items.
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "server/admin/metrics.hpp"
#include "server/stats/observed_stats.hpp"
#include "server/stats/quota_stats.hpp"

namespace mxkv::server {

namespace {

using type = Exposition::type;

/// Commands as the counters and the histogram of latencies name them: in one family, `form` tells the meta form.
struct KindLabels {
  std::string_view command;
  std::string_view form;
};
constexpr KindLabels labels_of(command_kind kind) {
  switch (kind) {
    case command_kind::mg:
      return {name_of(command_kind::get), "meta"};
    case command_kind::ms:
      return {name_of(command_kind::set), "meta"};
    case command_kind::md:
      return {name_of(command_kind::remove), "meta"};
    case command_kind::ma:
      return {name_of(command_kind::arithmetic), "meta"};
    case command_kind::range:
    case command_kind::batch:
    case command_kind::other:
      return {name_of(kind), "any"};
    default:
      return {name_of(kind), "classic"};
  }
}

/// One sum of counters: `also` counts the same outcome of the opposite command.
struct Outcome {
  command_kind command;
  std::string_view result;
  counter which;
  std::optional<counter> also = std::nullopt;
};
/// Commands that have outcomes, in all of their forms.
constexpr std::array kOutcomes{
    Outcome{command_kind::get, "hit", counter::get_hits},
    Outcome{command_kind::get, "miss", counter::get_misses},
    Outcome{command_kind::set, "done", counter::cmd_set},
    Outcome{command_kind::remove, "hit", counter::delete_hits},
    Outcome{command_kind::remove, "miss", counter::delete_misses},
    Outcome{command_kind::arithmetic, "hit", counter::incr_hits, counter::decr_hits},
    Outcome{command_kind::arithmetic, "miss", counter::incr_misses, counter::decr_misses},
    Outcome{command_kind::touch, "hit", counter::touch_hits},
    Outcome{command_kind::touch, "miss", counter::touch_misses},
};
struct CasResult {
  std::string_view result;
  counter which;
};
constexpr std::array kCasResults{CasResult{"hit", counter::cas_hits}, CasResult{"miss", counter::cas_misses},
                                 CasResult{"changed", counter::cas_badval}};

/// Bounds of latencies: powers of two minus one, in ns, because the histogram's buckets end there, too.
constexpr std::array<unsigned, 19> kPowers{11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                           21, 22, 23, 24, 26, 28, 30, 32, 34};

struct Cumulated {
  std::array<std::uint64_t, kPowers.size()> counts{};
  std::uint64_t all = 0;
  double sum_s = 0;
};

/// The sum is an estimate: a value is known to 6 %, and with the bucket's middle to 3 %.
Cumulated cumulated(const LatencyHistogram::Counts& counts) {
  Cumulated result;
  std::size_t next = 0;
  std::uint64_t least = 0;
  for (std::size_t bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
    const std::uint64_t greatest = LatencyHistogram::greatest_of(bucket);
    while (next < kPowers.size() && greatest >= std::uint64_t{1} << kPowers[next]) {
      result.counts[next++] = result.all;
    }
    result.all += counts[bucket];
    result.sum_s += static_cast<double>(counts[bucket]) * static_cast<double>(least + greatest) / 2e9;
    least = greatest + 1;
  }
  for (; next < kPowers.size(); ++next) {
    result.counts[next] = result.all;
  }
  return result;
}

void write_latencies(Exposition& out, const ServingParts& parts) {
  std::array<double, kPowers.size()> bounds{};
  for (std::size_t i = 0; i < kPowers.size(); ++i) {
    bounds[i] = static_cast<double>((std::uint64_t{1} << kPowers[i]) - 1) / 1e9;
  }
  out.family(type::histogram, "mxkv_command_duration_seconds",
             "Time in the server, from the request line to the last byte of the reply, of sampled commands "
             "(mxkv_latency_sample_every).");
  const LatencyCounts counts = latency_counts(parts.network);
  for (std::size_t kind = 0; kind < kCommandKinds; ++kind) {
    const Cumulated sums = cumulated(counts[kind]);
    const KindLabels labels = labels_of(static_cast<command_kind>(kind));
    out.add_histogram({{"command", labels.command}, {"form", labels.form}}, bounds, sums.counts, sums.all,
                      sums.sum_s);
  }
  const std::vector<const RequestSampler*>& samplers = parts.network.samplers();
  std::uint64_t untimed = 0;
  for (const RequestSampler* const sampler : samplers) {
    untimed += sampler->untimed();
  }
  out.family(type::gauge, "mxkv_latency_sample_every", "One in this many commands is timed; 0 if none is.");
  out.add(samplers.front()->one_in());
  out.family(type::counter, "mxkv_latency_samples_skipped",
             "Sampled commands that were not timed because too many were being timed.");
  out.add(untimed);
}

struct Counted {
  counter which;
  std::string_view name;
  std::string_view help;
};
constexpr std::array kCounted{
    Counted{counter::get_expired, "mxkv_get_expired", "Gets that found only an expired item."},
    Counted{counter::get_flushed, "mxkv_get_flushed", "Gets that found only an item removed by flush_all."},
    Counted{counter::cmd_meta, "mxkv_meta_commands",
            "Commands in the meta form; each of them counts under its other name, too."},
    Counted{counter::cmd_batch, "mxkv_batches", "Batches (mb)."},
    Counted{counter::cmd_flush, "mxkv_flushes", "Commands flush_all."},
    Counted{counter::batch_failures, "mxkv_batch_failures", "Batches that failed and changed nothing."},
    Counted{counter::total_items, "mxkv_items_stored", "Items stored since the start."},
    Counted{counter::evictions, "mxkv_evictions", "Items evicted to free memory."},
    Counted{counter::evicted_unfetched, "mxkv_evictions_unread", "Evicted items that were never read."},
    Counted{counter::ghost_returns, "mxkv_ghost_returns",
            "Items stored again soon after their eviction: with somewhat more memory these gets had hit."},
    Counted{counter::reclaimed, "mxkv_expired_met", "Expired items that a request found and removed."},
    Counted{counter::swept_items, "mxkv_expired_swept", "Expired items that a sweep removed."},
    Counted{counter::expired_unfetched, "mxkv_expired_unread", "Removed expired items that were never read."},
    Counted{counter::items_moved, "mxkv_items_moved", "Items moved out of sparse memory blocks."},
};

struct OfPrefix {
  type what;
  std::string_view name;
  std::string_view help;
  std::uint64_t (*value)(const QuotaSums& sums);
};
constexpr std::array kOfPrefixes{
    OfPrefix{type::gauge, "mxkv_prefix_items", "Items of a configured prefix.",
             [](const QuotaSums& sums) { return sums.of(quota_count::items); }},
    OfPrefix{type::gauge, "mxkv_prefix_memory_bytes",
             "Memory of the items of a configured prefix, with 32 bytes of the tree for each.",
             [](const QuotaSums& sums) { return sums.charge; }},
    OfPrefix{type::gauge, "mxkv_prefix_limit_bytes",
             "The most memory that the items of a configured prefix may take; 0 without a limit.",
             [](const QuotaSums& sums) { return sums.limit(); }},
    OfPrefix{type::gauge, "mxkv_prefix_keep_bytes",
             "Memory up to which no item of a configured prefix is evicted for other items.",
             [](const QuotaSums& sums) { return sums.options.keep_bytes; }},
    OfPrefix{type::counter, "mxkv_prefix_sets", "Values stored for clients, by configured prefix.",
             [](const QuotaSums& sums) { return sums.of(quota_count::sets); }},
    OfPrefix{type::counter, "mxkv_prefix_evictions", "Evicted items, by configured prefix.",
             [](const QuotaSums& sums) { return sums.of(quota_count::evictions); }},
    OfPrefix{type::counter, "mxkv_prefix_evictions_unread",
             "Evicted items that were never read, by configured prefix.",
             [](const QuotaSums& sums) { return sums.of(quota_count::evicted_unread); }},
    OfPrefix{type::counter, "mxkv_prefix_expired", "Expired items that were removed, by configured prefix.",
             [](const QuotaSums& sums) { return sums.of(quota_count::expired); }},
    OfPrefix{type::counter, "mxkv_prefix_refused",
             "Writes refused because a configured prefix was at its limit, by prefix.",
             [](const QuotaSums& sums) { return sums.of(quota_count::refused); }},
    OfPrefix{type::counter, "mxkv_prefix_ghost_returns",
             "Items stored again soon after their eviction, by configured prefix.",
             [](const QuotaSums& sums) { return sums.of(quota_count::ghost_returns); }},
    OfPrefix{type::counter, "mxkv_prefix_sampled_hits",
             "Gets of the sample (stats.sample) that found an item, by configured prefix.",
             [](const QuotaSums& sums) { return sums.of(quota_count::sampled_hits); }},
    OfPrefix{type::counter, "mxkv_prefix_sampled_misses",
             "Gets of the sample (stats.sample) that found no item, by configured prefix.",
             [](const QuotaSums& sums) { return sums.of(quota_count::sampled_misses); }},
};

void write_prefixes(Exposition& out, const ServingParts& parts) {
  const std::vector<QuotaSums> all = quota_sums(parts.store);
  for (const OfPrefix& one : kOfPrefixes) {
    if (!all.empty()) {
      out.family(one.what, one.name, one.help);
    }
    for (const QuotaSums& sums : all) {
      out.add({{"prefix", sums.options.prefix}}, one.value(sums));
    }
  }
}

void write_ranges(Exposition& out, const ServingParts& parts) {
  out.family(type::counter, "mxkv_ranges", "Range operations, by kind.");
  for (const auto& [which, kind] :
       {std::pair{counter::cmd_scan, "scan"}, std::pair{counter::cmd_range_count, "count"},
        std::pair{counter::cmd_range_delete, "delete"}, std::pair{counter::cmd_range_touch, "touch"}}) {
    out.add({{"kind", kind}}, parts.count(which));
  }
  out.family(type::counter, "mxkv_range_items",
             "Items read, deleted or touched by range operations, by kind.");
  for (const auto& [which, kind] :
       {std::pair{counter::scan_items, "scan"}, std::pair{counter::range_deleted_items, "delete"},
        std::pair{counter::range_touched_items, "touch"}}) {
    out.add({{"kind", kind}}, parts.count(which));
  }
}

}  // namespace

void write_commands(Exposition& out, const ServingParts& parts) {
  out.family(type::counter, "mxkv_commands",
             "Commands on single keys, by result. A get that touches counts as get and touch, a cas as set.");
  for (const Outcome& one : kOutcomes) {
    out.add({{"command", name_of(one.command)}, {"result", one.result}},
            parts.count(one.which) + (one.also ? parts.count(*one.also) : 0));
  }
  out.family(type::counter, "mxkv_cas",
             "Commands cas, by result: changed means that the item had another unique.");
  for (const CasResult& one : kCasResults) {
    out.add({{"result", one.result}}, parts.count(one.which));
  }
  for (const Counted& one : kCounted) {
    out.family(type::counter, one.name, one.help);
    out.add(parts.count(one.which));
  }
  write_ranges(out, parts);
  out.family(type::counter, "mxkv_errors", "Refused requests, by reason.");
  out.add({{"reason", "no_memory"}}, parts.count(counter::store_no_memory));
  out.add({{"reason", "too_large"}}, parts.count(counter::store_too_large));
  out.family(type::gauge, "mxkv_items", "Items in the store.");
  out.add(parts.statistics.items());
  out.family(type::gauge, "mxkv_items_bytes", "Memory of the items in the store.");
  out.add(parts.statistics.item_bytes());
  const ExpiredPresent::Estimate present = parts.store.expired_present().estimate();
  out.family(type::gauge, "mxkv_expired_items", "Estimated number of expired items that still use memory.");
  out.add(present.items);
  out.family(type::gauge, "mxkv_expired_items_bytes", "Estimated memory of expired items.");
  out.add(present.bytes);
  write_prefixes(out, parts);
  write_latencies(out, parts);
}

}  // namespace mxkv::server
