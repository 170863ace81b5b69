// The speed of a cluster's brokers alone: appends to a topic of their own, by the client and the settings of
// nodes. With one append under way this is the least latency of a write. With several appends of a group's
// size it is the most throughput of a log.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "runtime/base/command_line.hpp"
#include "runtime/base/standard_streams.hpp"
#include "server/cluster/kafka_log.hpp"
#include "server/cluster/kafka_topic.hpp"

namespace {

using namespace mxkv::server;  // NOLINT(google-build-using-namespace): a program, not a header
using Clock = std::chrono::steady_clock;

struct Measured {
  std::vector<std::int64_t> latencies_us;
  double seconds = 0;
};

Measured append_for(KafkaClient& client, OrderedLog& log, std::size_t bytes, unsigned under_way,
                    std::chrono::seconds time) {
  Measured measured;
  const std::string message(bytes, 'm');
  unsigned pending = 0;
  const Clock::time_point begin = Clock::now();
  while (Clock::now() < begin + time || pending > 0) {
    while (pending < under_way && Clock::now() < begin + time) {
      ++pending;
      log.append(message, [&measured, &pending, at = Clock::now()](Appended appended) {
        --pending;
        if (appended.outcome == append_outcome::stored) {
          measured.latencies_us.push_back(
              std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - at).count());
        }
      });
    }
    client.poll(10);
  }
  measured.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::ranges::sort(measured.latencies_us);
  return measured;
}

}  // namespace

int main(int argc, char** argv) {
  mxkv::runtime::open_standard_streams();
  KafkaOptions options;
  std::size_t bytes = 160;
  unsigned under_way = 1;
  unsigned seconds = 2;
  CLI::App app{"Appends to a log of a Kafka: a second, MB/s, 50th and 99th percentile in us"};
  app.add_option("--brokers", options.brokers, "host:port,...")->required();
  app.add_option("--bytes", bytes, "of a message");
  app.add_option("--under-way", under_way, "at once")->check(CLI::Range(1, 1000));
  app.add_option("--seconds", seconds, "that it takes");
  if (const auto code = mxkv::runtime::parse_or_exit(app, argc, argv)) {
    return *code;
  }

  const std::string topic = "log-bench-" + std::to_string(::getpid());
  if (const std::string why = create_topic(options, {.name = topic}, 20'000); !why.empty()) {
    std::fprintf(stderr, "log_bench: %s\n", why.c_str());
    return 1;
  }
  KafkaClient client{options};
  const auto log = client.open(topic, 0);
  static_cast<void>(append_for(client, *log, bytes, under_way, std::chrono::seconds{1}));  // warms up
  const Measured measured = append_for(client, *log, bytes, under_way, std::chrono::seconds{seconds});
  const std::vector<std::int64_t>& all = measured.latencies_us;
  if (all.empty()) {
    std::fprintf(stderr, "log_bench: nothing was stored: %s\n", client.counters().last_error.c_str());
    return 1;
  }
  const double rate = static_cast<double>(all.size()) / measured.seconds;
  std::printf("%.0f %.2f %lld %lld\n", rate, rate * static_cast<double>(bytes) / 1e6,
              static_cast<long long>(all[all.size() / 2]),
              static_cast<long long>(all[all.size() * 99 / 100]));
  return 0;
}
