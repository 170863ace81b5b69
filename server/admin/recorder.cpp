#include "server/admin/recorder.hpp"

#include <algorithm>
#include <utility>

#include "server/stats/observed_stats.hpp"
#include "server/store/item/expiry.hpp"

namespace mxkv::server {

namespace {

command_group group_of(command_kind kind) noexcept {
  switch (kind) {
    case command_kind::get:
    case command_kind::gat:
    case command_kind::mg:
      return command_group::get;
    case command_kind::set:
    case command_kind::ms:
      return command_group::set;
    case command_kind::remove:
    case command_kind::md:
      return command_group::remove;
    case command_kind::arithmetic:
    case command_kind::ma:
      return command_group::arithmetic;
    case command_kind::touch:
      return command_group::touch;
    case command_kind::range:
      return command_group::range;
    case command_kind::batch:
    case command_kind::other:
      break;
  }
  return command_group::batch;
}

std::uint64_t count_of(const ServingParts& parts, command_group group) {
  const auto sum = [&parts](std::initializer_list<counter> which) {
    std::uint64_t all = 0;
    for (const counter one : which) {
      all += parts.count(one);
    }
    return all;
  };
  switch (group) {
    case command_group::get:
      return sum({counter::get_hits, counter::get_misses});
    case command_group::set:
      return sum({counter::cmd_set});
    case command_group::remove:
      return sum({counter::delete_hits, counter::delete_misses});
    case command_group::arithmetic:
      return sum({counter::incr_hits, counter::incr_misses, counter::decr_hits, counter::decr_misses});
    case command_group::touch:
      return sum({counter::cmd_touch});
    case command_group::range:
      return sum(
          {counter::cmd_scan, counter::cmd_range_count, counter::cmd_range_delete, counter::cmd_range_touch});
    case command_group::batch:
      break;
  }
  return sum({counter::cmd_batch});
}

Recorder::Percentiles percentiles_of(const LatencyHistogram::Counts& counts) {
  Recorder::Percentiles found;
  for (const std::uint64_t count : counts) {
    found.samples += count;
  }
  found.p50_ns = LatencyHistogram::percentile(counts, 500'000);
  found.p99_ns = LatencyHistogram::percentile(counts, 990'000);
  return found;
}

}  // namespace

std::string_view name_of(command_group group) noexcept {
  switch (group) {
    case command_group::get:
      return "get";
    case command_group::set:
      return "set";
    case command_group::remove:
      return "delete";
    case command_group::arithmetic:
      return "incr, decr";
    case command_group::touch:
      return "touch";
    case command_group::range:
      return "ranges";
    case command_group::batch:
      break;
  }
  return "batches";
}

std::uint64_t WorkerIdle::ns(const ServingParts& parts, std::size_t worker) {
  greatest_.resize(std::max(greatest_.size(), worker + 1));
  const std::uint64_t now = parts.worker(worker).idle_clock().sum_ns(parts.runtime.clock().monotonic_ns());
  greatest_[worker] = std::max(greatest_[worker], now);
  return greatest_[worker];
}

Recorder::Look Recorder::look_now(const ServingParts& parts) {
  Look look;
  look.at_ns = parts.runtime.clock().monotonic_ns();
  for (std::size_t i = 0; i < kCommandGroups; ++i) {
    look.commands[i] = count_of(parts, static_cast<command_group>(i));
  }
  look.hits = parts.count(counter::get_hits);
  look.misses = parts.count(counter::get_misses);
  look.evicted = parts.count(counter::evictions);
  look.expired = parts.count(counter::reclaimed) + parts.count(counter::swept_items);
  const NetStats net = parts.network.stats();
  look.received_bytes = net.read_bytes;
  look.sent_bytes = net.written_bytes;
  for (std::size_t i = 0; i < parts.runtime.worker_count(); ++i) {
    look.requests.push_back(requests_of(parts, i));
    look.idle_ns.push_back(idle_.ns(parts, i));
  }
  return look;
}

void Recorder::find_loads(const Look& now, double passed_s) {
  workers_.assign(now.requests.size(), {});
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const double idle_s = static_cast<double>(now.idle_ns[i] - last_.idle_ns[i]) / 1e9;
    workers_[i] = {.requests = static_cast<double>(now.requests[i] - last_.requests[i]) / passed_s,
                   .busy = std::clamp(1 - idle_s / passed_s, 0.0, 1.0)};
  }
}

Recorder::Percentiles Recorder::find_percentiles(const ServingParts& parts) {
  const LatencyCounts counts = latency_counts(parts.network);
  Histograms& sums = histograms_.emplace_back();
  for (std::size_t kind = 0; kind < kCommandKinds; ++kind) {
    if (static_cast<command_kind>(kind) == command_kind::other) {
      continue;
    }
    LatencyHistogram::Counts& sum = sums[static_cast<std::size_t>(group_of(static_cast<command_kind>(kind)))];
    std::ranges::transform(sum, counts[kind], sum.begin(), std::plus{});
  }
  if (histograms_.size() > kPercentileLooks + 1) {
    histograms_.pop_front();
  }
  LatencyHistogram::Counts all{};
  for (std::size_t i = 0; i < kCommandGroups; ++i) {
    LatencyHistogram::Counts recent{};
    std::ranges::transform(histograms_.back()[i], histograms_.front()[i], recent.begin(), std::minus{});
    std::ranges::transform(all, recent, all.begin(), std::plus{});
    percentiles_[i] = percentiles_of(recent);
  }
  return percentiles_of(all);
}

void Recorder::forget() noexcept {
  last_ = {};
  seconds_.clear();
  histograms_.clear();
}

void Recorder::look(const ServingParts& parts) {
  Look now = look_now(parts);
  const Percentiles all = find_percentiles(parts);
  if (last_.at_ns != 0 && now.at_ns > last_.at_ns) {
    const double passed_s = static_cast<double>(now.at_ns - last_.at_ns) / 1e9;
    const auto rate = [passed_s](std::uint64_t after, std::uint64_t before) {
      return static_cast<double>(after - before) / passed_s;
    };
    Second& second = seconds_.emplace_back();
    second.unix_s = static_cast<double>(parts.runtime.clock().unix_us()) / 1e6;
    for (std::size_t i = 0; i < kCommandGroups; ++i) {
      second.commands[i] = rate(now.commands[i], last_.commands[i]);
    }
    second.hits = rate(now.hits, last_.hits);
    second.misses = rate(now.misses, last_.misses);
    second.received_bytes = rate(now.received_bytes, last_.received_bytes);
    second.sent_bytes = rate(now.sent_bytes, last_.sent_bytes);
    second.evicted = rate(now.evicted, last_.evicted);
    second.expired = rate(now.expired, last_.expired);
    second.used_bytes = parts.runtime.budget().used_bytes();
    second.items = parts.statistics.items();
    second.connections = parts.network.stats().open_connections;
    second.all = all;
    find_loads(now, passed_s);
    if (seconds_.size() > kKept) {
      seconds_.pop_front();
    }
  }
  last_ = std::move(now);
}

}  // namespace mxkv::server
