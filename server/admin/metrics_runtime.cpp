// Metrics of memory, workers, locks and the journal.
#include <array>
#include <string>
#include <utility>

#include "runtime/memory/size_classes.hpp"
#include "server/admin/metrics.hpp"
#include "server/stats/memory_stats.hpp"

namespace mxkv::server {

namespace {

using type = Exposition::type;
using runtime::WorkerCounters;

struct OfWorker {
  std::atomic<std::uint64_t> WorkerCounters::* which;
  std::string_view name;
  std::string_view help;
};
constexpr std::array kOfWorkers{
    OfWorker{&WorkerCounters::tasks, "mxkv_worker_tasks", "Task executions, retries included."},
    OfWorker{&WorkerCounters::ended, "mxkv_worker_tasks_ended", "Completed tasks."},
    OfWorker{&WorkerCounters::retries, "mxkv_worker_retries",
             "Task executions that met a writer and were put back for a retry."},
    OfWorker{&WorkerCounters::conflicts, "mxkv_worker_conflicts",
             "Optimistic reads of an index node that a writer invalidated."},
    OfWorker{&WorkerCounters::stuck, "mxkv_worker_tasks_stuck",
             "Tasks that retried very often without progress."},
    OfWorker{&WorkerCounters::rounds, "mxkv_worker_rounds", "Rounds of the worker's loop."},
    OfWorker{&WorkerCounters::parks, "mxkv_worker_parks", "Times that the worker went to sleep."},
    OfWorker{&WorkerCounters::wakes, "mxkv_worker_wakes", "Times that the worker woke another worker."},
    OfWorker{&WorkerCounters::tasks_stolen, "mxkv_worker_tasks_stolen",
             "Tasks that the worker stole from other workers."},
    OfWorker{&WorkerCounters::reclaimed, "mxkv_worker_reclaimed", "Objects freed after their epoch."},
};

/// The store's counters that together count a worker's requests.
constexpr std::array kRequests{
    counter::get_hits,         counter::get_misses,      counter::cmd_set,   counter::cmd_touch,
    counter::delete_hits,      counter::delete_misses,   counter::incr_hits, counter::incr_misses,
    counter::decr_hits,        counter::decr_misses,     counter::cmd_scan,  counter::cmd_range_count,
    counter::cmd_range_delete, counter::cmd_range_touch, counter::cmd_batch, counter::cmd_flush,
};

struct WorkerLabels {
  std::string worker;
  std::string node;
};

std::vector<WorkerLabels> labels_of(const ServingParts& parts) {
  std::vector<WorkerLabels> labels;
  for (std::size_t i = 0; i < parts.runtime.worker_count(); ++i) {
    labels.push_back({std::to_string(i), std::to_string(parts.node_of(parts.worker(i)))});
  }
  return labels;
}

void write_locks(Exposition& out, const ServingParts& parts) {
  const RangeLocks& locks = parts.store.locks();
  const runtime::ToggleStats toggle = locks.toggle.stats();
  const auto one = [&out](type what, const char* name, const char* help, std::uint64_t value) {
    out.family(what, name, help);
    out.add(value);
  };
  one(type::counter, "mxkv_locks", "Operations that locked keys (mb, mt, and mc and mx with X).",
      toggle.operations);
  one(type::counter, "mxkv_locks_of_many_slots", "Locking operations that held several slots of keys.",
      toggle.of_many);
  one(type::counter, "mxkv_lock_writes_held",
      "Writes that waited for an operation that had locked their key.", locks.gate.parked());
}

}  // namespace

std::uint64_t requests_of(const ServingParts& parts, std::size_t worker) {
  const StoreCounters& counters =
      parts.store.context(runtime::WorkerId{static_cast<std::uint16_t>(worker)}).counters;
  std::uint64_t sum = 0;
  for (const counter which : kRequests) {
    sum += counters.value(which);
  }
  return sum;
}

void write_memory(Exposition& out, const ServingParts& parts) {
  runtime::Runtime& runtime = parts.runtime;
  const runtime::MemoryBudget& budget = runtime.budget();
  out.family(type::gauge, "mxkv_memory_limit_bytes", "Memory limit (memory.limit).");
  out.add(budget.limit_bytes());
  out.family(type::gauge, "mxkv_memory_used_bytes", "Memory in use.");
  out.add(budget.used_bytes());
  out.family(type::gauge, "mxkv_memory_evicts",
             "1 if items are evicted when memory is full, 0 if writes are refused (memory.when_full).");
  out.add(parts.store.evicts() ? 1 : 0);
  out.family(type::gauge, "mxkv_memory_bytes",
             "Memory in use, by purpose; retired is part of items and index, too.");
  for (const auto& [category, name] : kMemoryCategoryNames) {
    out.add({{"for", name}}, budget.category_bytes(category));
  }
  out.add({{"for", "retired"}}, runtime.retired_bytes());
  const auto heaps = heaps_by_node(runtime);
  for (const bool live : {true, false}) {
    out.family(type::gauge, live ? "mxkv_memory_node_live_bytes" : "mxkv_memory_node_held_bytes",
               live ? "Memory of blocks in use, by NUMA node." : "Memory held for blocks, by NUMA node.");
    for (const auto& [node, sums] : heaps) {
      const std::string name = std::to_string(node);
      out.add({{"node", name}, {"for", "items"}}, live ? sums.items.live_bytes : sums.items.span_bytes);
      out.add({{"node", name}, {"for", "index"}}, live ? sums.nodes.live_bytes : sums.nodes.span_bytes);
    }
  }
  std::vector<runtime::ValueClassStats> classes;
  for (std::size_t size_class = 0; size_class < runtime::kSizeClasses; ++size_class) {
    classes.push_back(sum_of_class(runtime, size_class));
  }
  out.family(type::gauge, "mxkv_memory_class_blocks",
             "Memory blocks that hold items, by block size in bytes.");
  for (const runtime::ValueClassStats& one : classes) {
    if (one.spans != 0) {
      out.add({{"block", std::to_string(one.block_bytes)}}, one.live_blocks);
    }
  }
  out.family(type::gauge, "mxkv_memory_class_held_bytes",
             "Memory reserved for blocks of items, by block size in bytes.");
  for (const runtime::ValueClassStats& one : classes) {
    if (one.spans != 0) {
      out.add({{"block", std::to_string(one.block_bytes)}}, one.spans * runtime::kSpanBytes);
    }
  }
  out.family(type::gauge, "mxkv_index_levels", "Levels of the index.");
  out.add(parts.store.tree().root_level() + 1);
}

void write_workers(Exposition& out, const ServingParts& parts, WorkerIdle& idle) {
  const std::vector<WorkerLabels> labels = labels_of(parts);
  const auto each = [&](type what, std::string_view name, std::string_view help, auto&& value) {
    out.family(what, name, help);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      out.add({{"worker", labels[i].worker}, {"node", labels[i].node}}, value(i));
    }
  };
  each(type::counter, "mxkv_worker_requests", "Client requests, by the worker that executed them.",
       [&](std::size_t i) { return requests_of(parts, i); });
  const std::vector<std::uint64_t> connections = parts.network.connections_by_worker();
  each(type::gauge, "mxkv_worker_connections", "Open client connections, by worker.",
       [&](std::size_t i) { return connections[i]; });
  for (const OfWorker& one : kOfWorkers) {
    each(type::counter, one.name, one.help, [&](std::size_t i) {
      return (parts.worker(i).counters().*one.which).load(std::memory_order_relaxed);
    });
  }
  out.family(type::counter, "mxkv_worker_idle_seconds",
             "Time in which the worker slept or had nothing to do.");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    out.add_real({{"worker", labels[i].worker}, {"node", labels[i].node}},
                 static_cast<double>(idle.ns(parts, i)) / 1e9);
  }
  write_places(out, place_sums(parts.runtime, parts.store));
  write_locks(out, parts);
}

void write_places(Exposition& out, const PlaceSums& sums) {
  const bool counted = !sums.of_nodes.empty();
  out.family(type::counter, "mxkv_sampled_accesses",
             "Memory accesses of sampled look-ups, by kind (inner nodes, leaves, items); only with several "
             "NUMA nodes.");
  for (const PlaceSums::Met& met : sums.met) {
    if (counted) {
      out.add({{"to", met.name}}, met.all);
    }
  }
  out.family(
      type::counter, "mxkv_remote_accesses",
      "Memory accesses of sampled look-ups to another NUMA node than the worker's, by kind of object.");
  for (const PlaceSums::Met& met : sums.met) {
    if (counted) {
      out.add({{"to", met.name}}, met.remote);
    }
  }
  out.family(
      type::counter, "mxkv_node_remote_accesses",
      "Memory accesses of sampled look-ups to another NUMA node than the worker's, by the node accessed.");
  for (const auto& [node, count] : sums.of_nodes) {
    out.add({{"node", std::to_string(node)}}, count);
  }
}

void write_durability(Exposition& out, const ServingParts& parts) {
  if (parts.durability == nullptr) {
    return;
  }
  const DurabilityStatus status = parts.durability->status();
  const auto one = [&out](type what, const char* name, const char* help, std::uint64_t value) {
    out.family(what, name, help);
    out.add(value);
  };
  const auto real = [&out](type what, const char* name, const char* help, double value) {
    out.family(what, name, help);
    out.add_real(value);
  };
  one(type::gauge, "mxkv_journal_refusing", "1 if writes are refused; /readyz gives the reason.",
      status.refusal.empty() ? 0 : 1);
  one(type::gauge, "mxkv_journal_bytes", "Size of the journal.", status.journal_bytes);
  one(type::gauge, "mxkv_journal_limit_bytes", "Size of the journal at which writes are refused.",
      status.journal_most);
  one(type::gauge, "mxkv_journal_segments", "Segment files of the journal.", status.segments);
  one(type::gauge, "mxkv_journal_waiting_bytes", "Bytes of records that are not on disk yet.",
      status.waiting_bytes);
  real(type::gauge, "mxkv_journal_behind_seconds", "Age of the oldest change that is not on disk yet.",
       static_cast<double>(status.behind_ms) / 1e3);
  one(type::counter, "mxkv_journal_written_bytes", "Bytes written to the journal.", status.bytes_written);
  one(type::counter, "mxkv_journal_records", "Records written to the journal.", status.records);
  one(type::counter, "mxkv_journal_groups", "Groups of records written to the journal.", status.groups);
  one(type::counter, "mxkv_journal_flushes", "Flushes of the journal to disk.", status.flushes.flushes);
  one(type::counter, "mxkv_journal_slow_flushes", "Flushes of the journal that took more than a second.",
      status.slow_flushes);
  out.family(
      type::gauge, "mxkv_journal_flush_seconds",
      "Duration of the last 512 journal flushes: p50 (part 0.5), p99 (part 0.99) and maximum (part 1).");
  out.add_real({{"part", "0.5"}}, static_cast<double>(status.flushes.p50_ns) / 1e9);
  out.add_real({{"part", "0.99"}}, static_cast<double>(status.flushes.p99_ns) / 1e9);
  out.add_real({{"part", "1"}}, static_cast<double>(status.flushes.most_ns) / 1e9);
  one(type::counter, "mxkv_journal_failures", "Failed writes and flushes of the journal.", status.failures);
  const CheckpointStatus& checkpoint = status.checkpoint;
  one(type::counter, "mxkv_checkpoints", "Completed checkpoints.", checkpoint.completed);
  one(type::counter, "mxkv_checkpoint_failures", "Failed checkpoints.", checkpoint.failed);
  real(type::gauge, "mxkv_checkpoint_ratio", "Completed part of the running checkpoint, 0 to 1.",
       checkpoint.fraction);
  real(type::gauge, "mxkv_checkpoint_last_duration_seconds", "Duration of the last checkpoint.",
       checkpoint.last_seconds);
  one(type::gauge, "mxkv_checkpoint_last_items", "Items in the last checkpoint.",
      checkpoint.last ? checkpoint.last->items : 0);
  one(type::gauge, "mxkv_checkpoint_last_bytes", "Size of the last checkpoint.",
      checkpoint.last ? checkpoint.last->bytes : 0);
  real(type::gauge, "mxkv_checkpoint_last_timestamp_seconds",
       "Time of the last checkpoint, in seconds since 1970; 0 if there is none.",
       checkpoint.last ? static_cast<double>(checkpoint.last->made_us) / 1e6 : 0);
  one(type::gauge, "mxkv_recovered_items", "Items recovered at the start.", status.recovered_items);
  real(type::gauge, "mxkv_recovery_seconds", "Duration of the recovery at the start.",
       static_cast<double>(status.recovery_ms) / 1e3);
}

}  // namespace mxkv::server
