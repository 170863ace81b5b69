#include "server/stats/observed_stats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocol/reply.hpp"
#include "server/net/observe/request_sampler.hpp"
#include "server/net/tls/tls_stream.hpp"
#include "server/net/worker/network.hpp"
#include "server/stats/stat_text.hpp"

namespace mxkv::server {

namespace {

constexpr std::array kPercentiles{std::pair{500'000U, "p50_ns"},    std::pair{900'000U, "p90_ns"},
                                  std::pair{990'000U, "p99_ns"},    std::pair{999'000U, "p99.9_ns"},
                                  std::pair{999'900U, "p99.99_ns"}, std::pair{1'000'000U, "max_ns"}};

void add_percentiles(StatText& text, const std::string& prefix, const LatencyHistogram::Counts& counts) {
  std::uint64_t all = 0;
  for (const std::uint64_t count : counts) {
    all += count;
  }
  if (all == 0) {
    return;
  }
  text.add(prefix + "samples", all);
  for (const auto& [per_million, name] : kPercentiles) {
    text.add(prefix + name, LatencyHistogram::percentile(counts, per_million));
  }
}

}  // namespace

LatencyCounts latency_counts(const Network& network) {
  LatencyCounts sums{};
  for (const RequestSampler* const sampler : network.samplers()) {
    for (std::size_t i = 0; i < kCommandKinds; ++i) {
      if (const auto* latencies = sampler->latencies(static_cast<command_kind>(i))) {
        latencies->add_to(sums[i]);
      }
    }
  }
  return sums;
}

LatencyLook look_at_latencies(const Network& network) {
  LatencyLook found;
  for (const RequestSampler* const sampler : network.samplers()) {
    LatencyCounts& counts = found.workers.emplace_back();
    for (std::size_t i = 0; i < kCommandKinds; ++i) {
      if (const auto* latencies = sampler->latencies(static_cast<command_kind>(i))) {
        latencies->add_to(counts[i]);
      }
    }
    found.untimed += sampler->untimed();
  }
  return found;
}

void add_latency_stats(StatText& text, const Network& network, const LatencyLook& since) {
  // Reads each histogram once, so that the workers' samples add up to the sums although more requests come
  // in.
  LatencyLook now = look_at_latencies(network);
  LatencyCounts sums{};
  for (std::size_t worker = 0; worker < now.workers.size(); ++worker) {
    for (std::size_t i = 0; i < kCommandKinds; ++i) {
      LatencyHistogram::Counts& counts = now.workers[worker][i];
      if (worker < since.workers.size()) {
        std::ranges::transform(counts, since.workers[worker][i], counts.begin(), std::minus{});
      }
      std::ranges::transform(counts, sums[i], sums[i].begin(), std::plus{});
    }
  }
  text.add("sampled_one_in", network.samplers().front()->one_in());
  text.add("samples_untimed", now.untimed - since.untimed);
  const auto add_kinds = [&text](const std::string& prefix, const auto& kinds) {
    for (std::size_t i = 0; i < kCommandKinds; ++i) {
      add_percentiles(text, prefix + std::string{name_of(static_cast<command_kind>(i))} + ":", kinds[i]);
    }
  };
  add_kinds("", sums);
  for (std::size_t worker = 0; worker < now.workers.size(); ++worker) {
    add_kinds("worker:" + std::to_string(worker) + ":", now.workers[worker]);
  }
}

void add_slow_stats(StatText& text, const Network& network) {
  std::size_t number = 0;
  for (const SlowRequest& slow : network.slow_log().latest()) {
    const std::string prefix = std::to_string(number++) + ":";
    text.add(prefix + "time_us", slow.unix_us);
    text.add(prefix + "took_ns", slow.nanoseconds);
    text.add(prefix + "command", name_of(slow.kind));
    text.add(prefix + "worker", slow.worker);
    if (slow.kind == command_kind::range) {
      text.add(prefix + "range", key_in_one_word(slow.key));
    } else if (!slow.key.empty()) {
      text.add(prefix + "key", key_in_one_word(slow.key));
    }
    if (slow.keys > 1) {
      text.add(prefix + "keys", slow.keys);
    }
    text.add(prefix + "client", slow.client);
    text.add(prefix + "request_bytes", slow.request_bytes);
    text.add(prefix + "reply_bytes", slow.reply_bytes);
  }
}

// Wilson's interval of a share, scaled to all requests: also valid for few, and exact if every request is
// sampled.
RequestsAbout requests_about(std::uint64_t met, std::uint64_t error, std::uint32_t one_in) {
  constexpr double kDeviations = 1.96;
  const double times = std::max<double>(one_in, 1);
  const double spread = kDeviations * kDeviations * (1 - 1 / times);
  const auto bound = [spread, times](std::uint64_t count, double side) {
    const auto found = static_cast<double>(count);
    return times * (found + spread / 2 + side * std::sqrt(spread * (found + spread / 4)));
  };
  const double least = std::max(bound(met, -1), static_cast<double>(met));
  const double about = times * (static_cast<double>(met) + static_cast<double>(error) / 2);
  return {static_cast<std::uint64_t>(std::llround(about)), static_cast<std::uint64_t>(std::floor(least)),
          static_cast<std::uint64_t>(std::ceil(bound(met + error, 1)))};
}

std::vector<HotName> hot_names(const Network& network, std::uint64_t now_ns) {
  std::map<std::pair<HotKeys::what, std::string>, HotName> sums;
  for (const RequestSampler* sampler : network.samplers()) {
    for (const HotKeys::Count& count : sampler->hot_keys().counts(now_ns)) {
      HotName& sum = sums[{count.kind, count.key}];
      sum.kind = count.kind;
      sum.name = count.key;
      sum.sure += count.samples - count.error;
      sum.error += count.error;
    }
  }
  std::vector<HotName> found;
  for (auto& [named, sum] : sums) {
    // A name that came once, or not more often than its error, says nothing.
    if (sum.sure > std::max<std::uint64_t>(sum.error, 1)) {
      sum.requests = requests_about(sum.sure, sum.error, network.samplers().front()->one_in());
      found.push_back(std::move(sum));
    }
  }
  std::ranges::sort(found, [](const HotName& one, const HotName& other) { return one.sure > other.sure; });
  found.resize(std::min(found.size(), HotKeys::kMost));
  return found;
}

void add_hot_stats(StatText& text, const Network& network, std::uint64_t now_ns) {
  for (const HotName& one : hot_names(network, now_ns)) {
    text.add((one.kind == HotKeys::what::range ? "range:" : "key:") + key_in_one_word(one.name),
             std::to_string(one.requests.about) + " " + std::to_string(one.requests.least) + " " +
                 std::to_string(one.requests.most));
  }
}

namespace {

/// The state in memcached's words.
std::string_view state_of(ConnectionFacts::doing what) noexcept {
  switch (what) {
    case ConnectionFacts::doing::listens:
      return "conn_listening";
    case ConnectionFacts::doing::takes_value:
      return "conn_nread";
    case ConnectionFacts::doing::swallows:
      return "conn_swallow";
    case ConnectionFacts::doing::watches:
      return "conn_watch";
    case ConnectionFacts::doing::asks:
      return "conn_parse_cmd";
    case ConnectionFacts::doing::sends:
      return "conn_mwrite";
    case ConnectionFacts::doing::reads:
      break;
  }
  return "conn_read";
}

}  // namespace

void add_connection_stats(StatText& text, const Network& network, AdminCursor& cursor) {
  for (const ConnectionFacts& one : network.connections(cursor)) {
    const std::string prefix = std::to_string(one.descriptor) + ":";
    if (one.state == ConnectionFacts::doing::listens) {
      text.add(prefix + "addr", one.own);
      text.add(prefix + "state", state_of(one.state));
      continue;
    }
    text.add(prefix + "addr", one.peer);
    text.add(prefix + "listen_addr", one.own);
    text.add(prefix + "state", state_of(one.state));
    text.add(prefix + "secs_since_last_cmd", one.idle_seconds);
    text.add(prefix + "worker", one.worker);
    if (one.tls != nullptr) {
      text.add(prefix + "tls",
               one.tls->version + " " + one.tls->cipher + (one.tls->by_kernel ? " by kernel" : ""));
      if (!one.tls->subject.empty()) {
        text.add(prefix + "client_certificate", one.tls->subject);
      }
    }
  }
}

}  // namespace mxkv::server
