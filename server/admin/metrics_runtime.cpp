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
    OfWorker{&WorkerCounters::tasks, "mxkv_worker_tasks", "Tasks that ran"},
    OfWorker{&WorkerCounters::ended, "mxkv_worker_tasks_ended", "Tasks that came to their end"},
    OfWorker{&WorkerCounters::retries, "mxkv_worker_retries",
             "Times that a task met a writer and was put back"},
    OfWorker{&WorkerCounters::conflicts, "mxkv_worker_conflicts",
             "Reads of a node of the index that a writer made void"},
    OfWorker{&WorkerCounters::stuck, "mxkv_worker_tasks_stuck", "Tasks that were put back far too often"},
    OfWorker{&WorkerCounters::rounds, "mxkv_worker_rounds", "Rounds of a worker"},
    OfWorker{&WorkerCounters::parks, "mxkv_worker_parks", "Times that a worker went to sleep"},
    OfWorker{&WorkerCounters::wakes, "mxkv_worker_wakes", "Times that a worker woke another"},
    OfWorker{&WorkerCounters::tasks_stolen, "mxkv_worker_tasks_stolen", "Tasks that a worker took of others"},
    OfWorker{&WorkerCounters::reclaimed, "mxkv_worker_reclaimed",
             "Objects that were freed after their epoch"},
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
  one(type::counter, "mxkv_locks", "Operations that held keys", toggle.operations);
  one(type::counter, "mxkv_locks_of_many_buckets",
      "Of operations that held keys, those that held several buckets", toggle.of_many);
  one(type::counter, "mxkv_locks_shared", "Operations that held keys together with another", toggle.shared);
  one(type::counter, "mxkv_lock_slots_stolen", "Slots of keys that another worker took", toggle.stolen);
  one(type::counter, "mxkv_lock_writes_held", "Writes that waited for an operation which held their key",
      locks.gate.parked());
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
  out.family(type::gauge, "mxkv_memory_limit_bytes", "Most memory (memory.limit)");
  out.add(budget.limit_bytes());
  out.family(type::gauge, "mxkv_memory_used_bytes", "Memory in use");
  out.add(budget.used_bytes());
  out.family(type::gauge, "mxkv_memory_bytes",
             "Memory in use, by what for; retired is in items and index, too");
  for (const auto& [category, name] : kMemoryCategoryNames) {
    out.add({{"for", name}}, budget.category_bytes(category));
  }
  out.add({{"for", "retired"}}, retired_bytes(runtime));
  const auto heaps = heaps_by_node(runtime);
  for (const bool live : {true, false}) {
    out.family(type::gauge, live ? "mxkv_memory_node_live_bytes" : "mxkv_memory_node_held_bytes",
               live ? "Memory of blocks in use, by NUMA node" : "Memory held for blocks, by NUMA node");
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
  out.family(type::gauge, "mxkv_memory_class_blocks", "Blocks of items in use, by their size in bytes");
  for (const runtime::ValueClassStats& one : classes) {
    if (one.spans != 0) {
      out.add({{"block", std::to_string(one.block_bytes)}}, one.live_blocks);
    }
  }
  out.family(type::gauge, "mxkv_memory_class_held_bytes",
             "Memory held for blocks of items, by their size in bytes");
  for (const runtime::ValueClassStats& one : classes) {
    if (one.spans != 0) {
      out.add({{"block", std::to_string(one.block_bytes)}}, one.spans * runtime::kSpanBytes);
    }
  }
  out.family(type::gauge, "mxkv_index_levels", "Levels of the index");
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
  each(type::counter, "mxkv_worker_requests", "Requests of clients, by the worker that carried them out",
       [&](std::size_t i) { return requests_of(parts, i); });
  const std::vector<std::uint64_t> connections = parts.network.connections_by_worker();
  each(type::gauge, "mxkv_worker_connections", "Connections of clients",
       [&](std::size_t i) { return connections[i]; });
  for (const OfWorker& one : kOfWorkers) {
    each(type::counter, one.name, one.help, [&](std::size_t i) {
      return (parts.worker(i).counters().*one.which).load(std::memory_order_relaxed);
    });
  }
  out.family(type::counter, "mxkv_worker_idle_seconds", "Time in which a worker had nothing to do");
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
             "What look-ups of the sample met, by what it is; on several NUMA nodes only");
  for (const PlaceSums::Met& met : sums.met) {
    if (counted) {
      out.add({{"to", met.name}}, met.all);
    }
  }
  out.family(type::counter, "mxkv_remote_accesses",
             "Of what look-ups of the sample met, that on another NUMA node than the worker's");
  for (const PlaceSums::Met& met : sums.met) {
    if (counted) {
      out.add({{"to", met.name}}, met.remote);
    }
  }
  out.family(type::counter, "mxkv_node_remote_accesses",
             "Of those on another NUMA node, by the node whose memory it was");
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
  one(type::gauge, "mxkv_journal_refusing", "1: writes are refused, see /readyz",
      status.refusal.empty() ? 0 : 1);
  one(type::gauge, "mxkv_journal_bytes", "Size of the journal", status.journal_bytes);
  one(type::gauge, "mxkv_journal_limit_bytes", "Size of the journal from which on writes are refused",
      status.journal_most);
  one(type::gauge, "mxkv_journal_segments", "Files of the journal", status.segments);
  one(type::gauge, "mxkv_journal_waiting_bytes", "Records that are not on disk yet", status.waiting_bytes);
  real(type::gauge, "mxkv_journal_behind_seconds", "How far the disk is behind",
       static_cast<double>(status.behind_ms) / 1e3);
  one(type::counter, "mxkv_journal_written_bytes", "Bytes that were written to the journal",
      status.bytes_written);
  one(type::counter, "mxkv_journal_records", "Records that were written to the journal", status.records);
  one(type::counter, "mxkv_journal_groups", "Groups of records that were written together", status.groups);
  one(type::counter, "mxkv_journal_flushes", "Flushes of the journal to the disk", status.flushes.flushes);
  one(type::counter, "mxkv_journal_slow_flushes", "Flushes of the journal that took long",
      status.slow_flushes);
  out.family(type::gauge, "mxkv_journal_flush_seconds",
             "Time that such a part of recent flushes did not exceed");
  out.add_real({{"part", "0.5"}}, static_cast<double>(status.flushes.p50_ns) / 1e9);
  out.add_real({{"part", "0.99"}}, static_cast<double>(status.flushes.p99_ns) / 1e9);
  out.add_real({{"part", "1"}}, static_cast<double>(status.flushes.most_ns) / 1e9);
  one(type::counter, "mxkv_journal_failures", "Times that the disk refused to write", status.failures);
  const CheckpointStatus& checkpoint = status.checkpoint;
  one(type::counter, "mxkv_checkpoints", "Checkpoints that were completed", checkpoint.completed);
  one(type::counter, "mxkv_checkpoint_failures", "Checkpoints that failed", checkpoint.failed);
  real(type::gauge, "mxkv_checkpoint_ratio", "Part of the checkpoint under way that is done",
       checkpoint.fraction);
  real(type::gauge, "mxkv_checkpoint_last_duration_seconds", "Time that the last checkpoint took",
       checkpoint.last_seconds);
  one(type::gauge, "mxkv_checkpoint_last_items", "Items of the last checkpoint",
      checkpoint.last ? checkpoint.last->items : 0);
  one(type::gauge, "mxkv_checkpoint_last_bytes", "Size of the last checkpoint",
      checkpoint.last ? checkpoint.last->bytes : 0);
  real(type::gauge, "mxkv_checkpoint_last_timestamp_seconds",
       "When the last checkpoint was made, since 1970; 0: never",
       checkpoint.last ? static_cast<double>(checkpoint.last->made_us) / 1e6 : 0);
  one(type::gauge, "mxkv_recovered_items", "Items that were there at the start", status.recovered_items);
  real(type::gauge, "mxkv_recovery_seconds", "Time that the recovery took",
       static_cast<double>(status.recovery_ms) / 1e3);
}

}  // namespace mxkv::server
