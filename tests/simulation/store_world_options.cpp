#include "tests/simulation/store_world_options.hpp"

#include <array>
#include <limits>

namespace mxkv::simulation {

namespace {

server::StoreOptions draw_store(runtime::Random& random) {
  server::StoreOptions options;
  // As many draws as there were for levels by scheduling, so that all else of a world is as it was.
  const bool half = one_in(random, 2);
  const bool quarter = one_in(random, 4);
  options.tree.leaves_adapt = half || one_in(random, 2) || quarter;
  // Time passes in leaps here: no page is to end by it.
  options.ranges = {.items = 10'000,
                    .bytes = std::uint64_t{1} << 30U,
                    .time_ns = std::numeric_limits<std::uint64_t>::max() / 4};
  options.merge_after = 1;  // few items are there
  options.toggle.order = one_in(random, 2) ? runtime::interval_order::queue : runtime::interval_order::toggle;
  options.toggle.buckets = static_cast<std::uint32_t>(random.below(6));
  options.toggle.slots_per_bucket = 1 + static_cast<std::uint32_t>(random.below(8));
  options.toggle.hosts = !one_in(random, 2);
  options.toggle.inner = !one_in(random, 4);
  options.toggle.stealing = !one_in(random, 4);
  return options;
}

/// Nodes so small that few keys make three levels and more, and buffers that are soon full.
void draw_depth(runtime::Random& random, StoreWorldOptions& world) {
  if (!one_in(random, 4)) {
    const auto leaf = 2 + static_cast<unsigned>(random.below(7));
    world.store.tree.limits = {.leaf = leaf < 8 ? leaf : 16,  // of two blocks, that hand entries on
                               .inner = 4 + static_cast<unsigned>(random.below(5))};
  }
  world.world.runtime.fast_path = !one_in(random, 3);
  if (one_in(random, 2)) {
    // Free tasks fill a window, pools go beyond it, and urgent tasks beyond that: as with usual sizes.
    const auto window = 1 + static_cast<std::uint32_t>(random.below(10));
    world.world.runtime.prefetch.window = window;
    world.world.runtime.workers.back().prefetch.reset();
    world.world.runtime.buffered_tasks =
        window + window / 2 + 4 + static_cast<std::uint32_t>(random.below(6));
  }
}

void draw_adversaries(runtime::Random& random, StoreWorldOptions& world) {
  RequestOptions& requests = world.requests;
  requests.bursts = !requests.bank && !one_in(random, 3);
  requests.quiet = !world.world.short_of_memory;
  requests.pages = one_in(random, 2);
  requests.long_keys = one_in(random, 3);
  requests.runs_expire = requests.others > 0 && one_in(random, 2);
  if (requests.runs_expire && one_in(random, 2)) {
    requests.others += 80;  // leaves enough to fill a buffer with those that unlink them
  }
  world.tides = requests.runs_expire || (requests.expiry && one_in(random, 2));
  // An operation that is cut off stays open in a history for ever.
  world.burst_in_flight = world.clients_leave ? world.in_flight : 4 + random.below(28);
}

/// Hundreds of leaves that few workers empty at once.
void draw_storm(runtime::Random& random, StoreWorldOptions& world) {
  world.requests.others = 60 + random.below(100);
  world.requests.runs_expire = true;
  world.requests.erases = true;
  world.tides = true;
  world.store.tree.limits = {.leaf = 2 + static_cast<unsigned>(random.below(3)), .inner = 4};
  world.store.tree.leaves_adapt = false;
  const auto window = 4 + static_cast<std::uint32_t>(random.below(8));
  world.world.runtime.prefetch.window = window;
  world.world.runtime.workers.back().prefetch.reset();
  world.world.runtime.buffered_tasks = window + window / 2 + 4;
}

/// Ranges of a few leaves are divided between workers, or none are.
void draw_splitting(runtime::Random& random, server::RangeSplitting& splitting) {
  splitting = {.leaves_alone = 1 + static_cast<std::uint32_t>(random.below(3)),
               .leaves_a_part = 1,
               .parts_a_worker = static_cast<std::uint32_t>(random.below(5))};
}

/// Runs of reads start together. Drawn apart, so that worlds without them are as they were.
void draw_reads(StoreWorldOptions& world) {
  runtime::Random random{world.operations * 31 + world.requests.others * 7 + world.burst_in_flight};
  world.requests.reads = random.below(5) == 0;
}

/// Quotas of some keys, one within another. They have limits where items may be evicted, or where requests may fail for
/// lack of memory. Drawn apart, so that worlds without quotas are as they were.
void draw_quotas(StoreWorldOptions& world) {
  runtime::Random random{world.operations * 37 + world.requests.keys * 11 + world.burst_in_flight};
  constexpr std::array kPrefixes{"k", "key0", "key0:1", "key1", "key1:10", "key2"};
  if (one_in(random, 2)) {
    return;
  }
  const bool refuses = world.world.short_of_memory && !world.requests.bank;
  for (const char* const prefix : kPrefixes) {
    if (one_in(random, 3)) {
      continue;
    }
    server::QuotaOptions quota{.prefix = prefix};
    world.store.quotas.push_back(quota);
    if (world.store.evict) {
      quota.keep_bytes = one_in(random, 2) ? random.below(4000) : 0;
      quota.most_bytes = 100 + random.below(one_in(random, 2) ? 500 : 6000);
    } else if (refuses && one_in(random, 2)) {
      quota.most_bytes = 100 + random.below(2000);
      quota.evicts = false;
    }
    world.quota_limits.push_back(quota);
  }
}

}  // namespace

StoreWorldOptions draw_store_world(runtime::Random& random) {
  StoreWorldOptions world;
  world.world = draw_world(random);
  world.store = draw_store(random);
  const bool storms = one_in(random, 6);
  if (storms && world.world.runtime.workers.size() > 2) {
    world.world.runtime.workers.resize(1 + random.below(2));
  }
  world.requests.keys = 3 + random.below(kMostHistoryKeys - 2);
  world.requests.others = one_in(random, 3) ? 0 : 1 + random.below(80);
  world.requests.bank = one_in(random, 3);
  if (world.requests.bank) {
    world.requests.begin_number = 1'000'000;  // more than is ever taken
  } else {
    world.requests.expiry = one_in(random, 2);
    world.requests.flushes = one_in(random, 3);
  }
  world.requests.operations_in_8 = 3 + static_cast<unsigned>(random.below(5));
  const std::size_t workers = world.world.runtime.workers.size();
  world.clients = workers == 1 ? 2 + random.below(2) : 1 + random.below(workers < 4 ? 2 : 1);
  world.in_flight = 1 + random.below(3);
  world.operations = 20 + random.below(40);
  world.evicts = !world.requests.bank && one_in(random, 5);
  world.store.evict =
      world.evicts || (world.world.short_of_memory && !world.requests.bank && one_in(random, 3));
  if (!world.requests.bank && one_in(random, 3)) {
    world.requests.probes = true;
    ++world.clients;
  }
  world.moves = one_in(random, 2);
  world.redraws = !one_in(random, 3);
  world.preempts = !world.requests.bank && world.world.interruptions_in_64 != 0;
  world.stalls = one_in(random, 2);
  world.clients_leave = one_in(random, 4);
  draw_depth(random, world);
  draw_adversaries(random, world);
  if (storms) {
    draw_storm(random, world);
  }
  draw_splitting(random, world.store.ranges.splitting);
  if (!world.clients_leave) {
    draw_reads(world);
  }
  draw_quotas(world);
  return world;
}

std::string describe(const StoreWorldOptions& world) {
  const runtime::ToggleOptions& toggle = world.store.toggle;
  std::string text = describe(world.world) + ", leaves of the store that " +
                     (world.store.tree.leaves_adapt ? "adapt, " : "stay, ") + std::to_string(toggle.buckets) +
                     " buckets of " + std::to_string(toggle.slots_per_bucket) + " slots, " +
                     std::to_string(world.requests.keys) + " keys with " +
                     std::to_string(world.requests.others) + " others each, " +
                     std::to_string(world.clients) + " clients of each worker";
  text += toggle.order == runtime::interval_order::queue ? ", one queue" : "";
  const index::NodeLimits& limits = world.store.tree.limits;
  if (limits.leaf != index::NodeLimits{}.leaf) {
    text +=
        ", leaves of " + std::to_string(limits.leaf) + " and inner nodes of " + std::to_string(limits.inner);
  }
  text += ", buffers of " + std::to_string(world.world.runtime.buffered_tasks);
  text += world.world.runtime.fast_path ? "" : ", never the fast path";
  text += world.requests.bursts ? ", bursts of " + std::to_string(world.burst_in_flight) : "";
  text += world.requests.pages ? ", pages" : "";
  text += world.requests.long_keys ? ", long keys" : "";
  text += world.requests.runs_expire ? ", runs expire" : "";
  text += world.tides ? ", tides" : "";
  text += world.requests.probes ? ", probes" : "";
  text += toggle.hosts ? ", hosts" : "";
  text += toggle.inner ? ", inner" : "";
  text += toggle.stealing ? ", stealing" : "";
  text += world.requests.bank ? ", a bank" : "";
  text += world.requests.expiry ? ", expiry" : "";
  text += world.requests.flushes ? ", flushes" : "";
  text += world.store.evict ? ", eviction" : "";
  text += world.store.quotas.empty() ? "" : ", " + std::to_string(world.store.quotas.size()) + " quotas";
  text += world.evicts ? ", evicts at random" : "";
  text += world.moves ? ", moves" : "";
  text += world.redraws ? ", redraws" : "";
  text += world.preempts ? ", preempts" : "";
  text += world.stalls ? ", stalls" : "";
  text += world.clients_leave ? ", clients leave" : "";
  text += world.requests.reads ? ", runs of reads" : "";
  const server::RangeSplitting& splitting = world.store.ranges.splitting;
  text += ", after " + std::to_string(splitting.leaves_alone) + " leaves " +
          std::to_string(splitting.parts_a_worker) + " parts a worker";
  return text;
}

}  // namespace mxkv::simulation
