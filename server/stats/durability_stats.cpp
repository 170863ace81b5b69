#include "server/stats/durability_stats.hpp"

#include <string_view>

#include "config/parse.hpp"

namespace mxkv::server {

namespace {

std::string_view name_of(checkpoint_stage stage) {
  switch (stage) {
    case checkpoint_stage::idle:
    case checkpoint_stage::end:
      return "none";
    case checkpoint_stage::begin:
    case checkpoint_stage::settle:
    case checkpoint_stage::cut:
    case checkpoint_stage::scan:
      return "scan";
    case checkpoint_stage::wait:
      return "wait";
    case checkpoint_stage::verify:
      return "verify";
    case checkpoint_stage::name:
      return "name";
  }
  return "none";
}

std::string sync_text(const config::DurabilityOptions& options) {
  switch (options.sync) {
    case config::sync_mode::commit:
      return "commit";
    case config::sync_mode::never:
      return "never";
    case config::sync_mode::interval:
      break;
  }
  return config::format_duration_ms(options.interval_ms);
}

void add_checkpoint(StatText& text, const CheckpointStatus& checkpoint) {
  text.add("checkpoint", name_of(checkpoint.stage));
  text.add("checkpoint_percent", static_cast<std::uint64_t>(checkpoint.fraction * 100));
  text.add("checkpoints", checkpoint.completed);
  text.add("checkpoints_failed", checkpoint.failed);
  text.add("checkpoint_ms", static_cast<std::uint64_t>(checkpoint.last_seconds * 1000));
  text.add("checkpoint_items", checkpoint.last ? checkpoint.last->items : 0);
  text.add("checkpoint_bytes", checkpoint.last ? checkpoint.last->bytes : 0);
  text.add("checkpoint_epoch", checkpoint.last ? checkpoint.last->begun : 0);
  text.add("checkpoint_time", checkpoint.last ? checkpoint.last->made_us / 1'000'000 : 0);
  if (!checkpoint.last_error.empty()) {
    text.add("checkpoint_error", checkpoint.last_error);
  }
}

}  // namespace

void add_durability_stats(StatText& text, const Durability& durability, const NetStats& net) {
  const DurabilityStatus status = durability.status();
  text.add("sync", sync_text(status.options));
  text.add("reads", status.options.reads == config::read_mode::durable ? "durable" : "latest");
  text.add("epoch_current", status.epoch_current);
  text.add("epoch_durable", status.epoch_durable);
  text.add("behind_ms", status.behind_ms);
  text.add("waiting_bytes", status.waiting_bytes);
  text.add("held_connections", net.held);
  text.add("paused_connections", net.journal_pauses);
  text.add("closed_connections", net.journal_closed);
  text.add("journal_bytes", status.journal_bytes);
  text.add("journal_most", status.journal_most);
  text.add("journal_segments", status.segments);
  text.add("journal_bytes_written", status.bytes_written);
  text.add("records", status.records);
  text.add("groups", status.groups);
  text.add("flushes", status.flushes.flushes);
  text.add("flush_p50_us", status.flushes.p50_ns / 1000);
  text.add("flush_p99_us", status.flushes.p99_ns / 1000);
  text.add("flush_max_us", status.flushes.most_ns / 1000);
  text.add("slow_flushes", status.slow_flushes);
  text.add("failures", status.failures);
  add_checkpoint(text, status.checkpoint);
  text.add("recovered_items", status.recovered_items);
  text.add("recovery_ms", status.recovery_ms);
  if (!status.refusal.empty()) {
    text.add("refusal", status.refusal);
  }
  if (!status.last_error.empty()) {
    text.add("last_error", status.last_error);
  }
}

}  // namespace mxkv::server
