#include "server/stats/observed_stats.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocol/reply.hpp"
#include "server/net/network.hpp"
#include "server/net/request_sampler.hpp"
#include "server/net/tls_stream.hpp"
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

void add_latency_stats(StatText& text, const Network& network) {
  const std::vector<const RequestSampler*>& samplers = network.samplers();
  text.add("sampled_one_in", samplers.front()->one_in());
  std::uint64_t untimed = 0;
  for (const RequestSampler* sampler : samplers) {
    untimed += sampler->untimed();
  }
  text.add("samples_untimed", untimed);
  // Each histogram is read once, so that the workers' samples add up to the sums while requests still come
  // in.
  std::vector<std::array<LatencyHistogram::Counts, kCommandKinds>> workers(samplers.size());
  std::array<LatencyHistogram::Counts, kCommandKinds> sums{};
  for (std::size_t worker = 0; worker < samplers.size(); ++worker) {
    for (std::size_t i = 0; i < kCommandKinds; ++i) {
      LatencyHistogram::Counts& counts = workers[worker][i];
      if (const auto* latencies = samplers[worker]->latencies(static_cast<command_kind>(i))) {
        latencies->add_to(counts);
      }
      std::ranges::transform(counts, sums[i], sums[i].begin(), std::plus{});
    }
  }
  const auto add_kinds = [&text](const std::string& prefix, const auto& kinds) {
    for (std::size_t i = 0; i < kCommandKinds; ++i) {
      add_percentiles(text, prefix + std::string{name_of(static_cast<command_kind>(i))} + ":", kinds[i]);
    }
  };
  add_kinds("", sums);
  for (std::size_t worker = 0; worker < samplers.size(); ++worker) {
    add_kinds("worker:" + std::to_string(worker) + ":", workers[worker]);
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
    // What came once, or is not above its error, is known for nothing.
    if (sum.sure > std::max<std::uint64_t>(sum.error, 1)) {
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
             std::to_string(one.sure) + " " + std::to_string(one.error));
  }
}

void add_connection_stats(StatText& text, const Network& network, AdminCursor& cursor) {
  for (const ConnectionFacts& one : network.connections(cursor)) {
    const std::string prefix = std::to_string(one.descriptor) + ":";
    if (one.state == ConnectionFacts::doing::listens) {
      text.add(prefix + "addr", one.own);
      text.add(prefix + "state", "conn_listening");
      continue;
    }
    text.add(prefix + "addr", one.peer);
    text.add(prefix + "listen_addr", one.own);
    text.add(prefix + "state", one.state == ConnectionFacts::doing::sends ? "conn_mwrite" : "conn_read");
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
