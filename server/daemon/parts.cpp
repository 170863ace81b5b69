#include "server/daemon/parts.hpp"

#include <utility>

#include "config/parse.hpp"
#include "config/resolve.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

RangeLimits range_limits(const config::LimitOptions& limits) {
  return {.items = limits.scan_items,
          .bytes = limits.scan_bytes,
          .time_ns = std::uint64_t{limits.scan_time_ms} * 1'000'000,
          .locked_items = limits.locked_items};
}

std::vector<QuotaOptions> quotas_of(const config::DaemonOptions& options, std::size_t limit) {
  std::vector<QuotaOptions> quotas;
  const bool for_requests = options.evict_for == config::evict_for::requests;
  for (const config::PrefixOptions& each : options.prefixes) {
    quotas.push_back(
        {.prefix = each.prefix,
         .most_bytes = each.has_limit() ? config::prefix_memory(each, limit) : QuotaOptions::kNoLimit,
         .keep_bytes = each.keep_bytes,
         .evicts = each.when_full == config::when_full::evict,
         .weighs_size = each.evict_for == config::prefix_evict_for::automatic
                            ? for_requests
                            : each.evict_for == config::prefix_evict_for::requests});
  }
  return quotas;
}

runtime::ToggleOptions lock_order(const config::DaemonOptions& options, std::size_t workers) {
  constexpr std::uint32_t kSlotsOfAWorker = 32;
  return {.order = runtime::interval_order::queue,
          .buckets = options.lock_slots != 0 ? options.lock_slots
                                             : kSlotsOfAWorker * static_cast<std::uint32_t>(workers),
          .slots_per_bucket = 1};
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

ClusterParts::ClusterParts(const config::DaemonOptions& options, ClusterStart& start,
                           runtime::Runtime& runtime, Store& of, Log& log)
    : lines(start.lines),
      routes(start.map.splits()),
      node(start.node, start.map, *start.engine, *start.board, *start.reader, runtime, of, routes,
           {.info = [&log](const std::string& line) { log.info(line); },
            .warn = [&log](const std::string& line) { log.warning(line); }}),
      store(of, routes, runtime.clock(), runtime.worker_count(),
            {.forwards = options.cluster.forward,
             .patience_ms = options.cluster.patience_ms,
             .staleness_ns = std::uint64_t{options.cluster.staleness_ms} * 1'000'000,
             .answer_ms = 2 * start.map.lease_ms,
             .own_address = start.node.peer}) {
  lines->write_to(
      [&log](bool grave, const std::string& line) { grave ? log.warning(line) : log.info(line); });
  // Nodes with leases of their own would read data that another node has overwritten.
  if (options.cluster.lease_ms != start.map.lease_ms &&
      config::find_origin(options.origins, "cluster.lease") != nullptr) {
    log.warning("cluster.lease is " + config::format_duration_ms(options.cluster.lease_ms) +
                ", but is ignored: the cluster's map says " + config::format_duration_ms(start.map.lease_ms) +
                " (mxkvd cluster lease changes it)");
  }
}

ClusterParts::~ClusterParts() {
  lines->write_to({});
}

Parts::Parts(const config::DaemonOptions& options, runtime::RuntimeOptions resolved,
             const runtime::Clock& clock, runtime::SteeredClock* steered, Log& log, Credentials& known,
             DurableStart* durable, ClusterStart* joined)
    : alarm(log),
      runtime(std::move(resolved), clock),
      store(runtime, {.tree = {},
                      .ranges = range_limits(options.limits),
                      .toggle = lock_order(options, runtime.worker_count()),
                      .value_bytes = options.limits.value_bytes,
                      .evacuation = options.evacuation,
                      .evict = options.when_full == config::when_full::evict,
                      .evict_large_first = options.evict_for == config::evict_for::requests,
                      .quotas = quotas_of(options, runtime.budget().limit_bytes())}),
      durability(durable == nullptr
                     ? nullptr
                     : std::make_unique<Durability>(
                           std::move(durable->held), options.durability,
                           RecoverySettings{.evict = options.when_full == config::when_full::evict,
                                            .recover_prefix = options.durability.recover_prefix,
                                            .resume_time = durable->resume_time,
                                            .progress = durable->progress},
                           runtime, store, durable->log)),
      cluster(joined == nullptr ? nullptr
                                : std::make_unique<ClusterParts>(options, *joined, runtime, store, log)),
      feed(joined != nullptr ? nullptr
                             : std::make_unique<Feed>(runtime, store, durability.get(), options.watch)),
      credentials(known),
      statistics(runtime, store, options, credentials),
      administration(runtime, statistics, log, steered, options.server, config_inbox),
      replies(make_replies(runtime)),
      network(runtime, replies, store, options.limits, administration, credentials, options.stats,
              options.balance, log,
              durability != nullptr ? &durability->gate()
              : cluster != nullptr  ? &cluster->node.gate()
                                    : nullptr,
              cluster == nullptr ? nullptr : &cluster->store, feed.get()) {
  MXKV_ASSERT(durability == nullptr || cluster == nullptr,
              "changes go to a journal or to the cluster's logs");
  statistics.set_network(network);
  administration.set_network(network);
  statistics.set_durability(durability.get());
  statistics.set_feed(feed.get());
  if (cluster != nullptr) {
    statistics.set_cluster(&cluster->node, &cluster->store);
  }
  runtime.set_alarm(alarm);
}

Parts::~Parts() {
  if (feed != nullptr) {
    feed->stop();
  }
  runtime.stop();
  // Tasks that never ran refer to store and replies, so they are freed first.
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
  if (cluster != nullptr) {
    cluster->node.start([this](std::size_t worker) { network.wake(worker); });
  }
  if (feed != nullptr) {
    feed->start([this](std::size_t worker) { network.wake(worker); });
  }
  return true;
}

void Parts::end() {
  if (feed != nullptr) {
    feed->stop();
  }
  runtime.stop();
  if (durability != nullptr) {
    durability->finish();
  }
  if (cluster != nullptr) {
    cluster->node.finish();
  }
}

bool Parts::change(const config::DaemonOptions& options) {
  store.set_limits(range_limits(options.limits), options.limits.value_bytes);
  store.set_upkeep({.defragments = options.evacuation,
                    .evicts = options.when_full == config::when_full::evict,
                    .weighs_size = options.evict_for == config::evict_for::requests});
  store.set_quotas(quotas_of(options, runtime.budget().limit_bytes()));
  runtime.set_spin_rounds(options.spin_rounds);
  administration.set_shutdown_allowed(options.server.shutdown_command);
  if (durability != nullptr) {
    durability->apply(options.durability);
  }
  return network.change({options.limits, options.stats, options.balance});
}

}  // namespace mxkv::server
