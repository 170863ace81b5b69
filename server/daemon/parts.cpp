#include "server/daemon/parts.hpp"

#include <utility>

namespace mxkv::server {

namespace {

RangeLimits range_limits(const config::LimitOptions& limits) {
  return {.items = limits.scan_items,
          .bytes = limits.scan_bytes,
          .time_ns = std::uint64_t{limits.scan_time_ms} * 1'000'000,
          .locked_items = limits.locked_items};
}

index::TreeOptions tree_options(const config::IndexOptions& options) {
  // Inner nodes are read with each operation and written with each split below; leaves are written to as clients do.
  const auto primitive_of = [](config::node_primitive how, runtime::rw_ratio ratio) {
    switch (how) {
      case config::node_primitive::optimistic_latch:
        return runtime::primitive::optimistic_latch;
      case config::node_primitive::optimistic_scheduling:
        return runtime::primitive::optimistic_scheduling;
      case config::node_primitive::automatic:
        break;
    }
    return runtime::select_primitive(runtime::isolation::shared, ratio, runtime::access_frequency::moderate);
  };
  return {.leaves = primitive_of(options.leaves, runtime::rw_ratio::balanced),
          .inner_nodes = primitive_of(options.inner, runtime::rw_ratio::read_heavy),
          .interleave = options.upper_levels == config::upper_levels::interleaved,
          .leaves_adapt = options.leaves == config::node_primitive::automatic};
}

std::vector<std::unique_ptr<WorkerReplies>> make_replies(runtime::Runtime& runtime) {
  std::vector<std::unique_ptr<WorkerReplies>> replies;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    replies.push_back(std::make_unique<WorkerReplies>(
        runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}), runtime.budget()));
  }
  return replies;
}

}  // namespace

Parts::Parts(const config::DaemonOptions& options, runtime::RuntimeOptions resolved,
             const runtime::Clock& clock, runtime::SteeredClock* steered, Log& log, DurableStart* durable)
    : alarm(log),
      runtime(std::move(resolved), clock),
      store(runtime, {.tree = tree_options(options.index),
                      .ranges = range_limits(options.limits),
                      .toggle = options.toggle,
                      .value_bytes = options.limits.value_bytes,
                      .evacuation = options.evacuation,
                      .evict = options.when_full == config::when_full::evict,
                      .offers = {.mode = static_cast<read_offering>(options.offer_reads)}}),
      durability(durable == nullptr
                     ? nullptr
                     : std::make_unique<Durability>(
                           std::move(durable->held), options.durability,
                           RecoverySettings{.evict = options.when_full == config::when_full::evict,
                                            .recover_prefix = options.durability.recover_prefix,
                                            .progress = durable->progress},
                           runtime, store, durable->log)),
      statistics(runtime, store, options, credentials),
      administration(runtime, statistics, log, steered, options.server),
      replies(make_replies(runtime)),
      network(runtime, replies, store, options.limits, administration, credentials, options.stats,
              options.balance, log, durability == nullptr ? nullptr : &durability->gate()) {
  statistics.set_network(network);
  statistics.set_durability(durability.get());
  runtime.set_alarm(alarm);
}

Parts::~Parts() {
  runtime.stop();
  // Tasks that never ran refer to store and replies, so they go first.
  store.discard_waiting(runtime);
  runtime.drain_stopped();
}

runtime::Result<bool> Parts::start() {
  if (durability != nullptr) {
    durability->start([this](std::size_t worker) { network.wake(worker); });
  }
  if (const auto started = runtime.start(); !started) {
    return started.error();
  }
  return true;
}

void Parts::end() {
  runtime.stop();
  if (durability != nullptr) {
    durability->finish();
  }
}

bool Parts::change(const Network::Settings& settings) {
  store.set_limits(range_limits(settings.limits), settings.limits.value_bytes);
  return network.change(settings);
}

}  // namespace mxkv::server
