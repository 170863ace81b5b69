// Results survive their files, and merging two of them is as if one client had seen all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/report/csv.hpp"
#include "bench/report/hgrm.hpp"
#include "bench/report/machine.hpp"
#include "bench/report/result_json.hpp"
#include "bench/report/server_probe.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kNsPerS = 1'000'000'000;

/// Counts random operations of seconds 0 and 1, each in one of the results.
void record_randomly(std::vector<RunResult*> results, std::uint64_t seed) {
  runtime::Random random(seed);
  for (std::size_t second = 0; second < 2; ++second) {
    std::vector<std::array<Histogram, kOperationKinds>> now(results.size());
    for (int i = 0; i < 5000; ++i) {
      const std::size_t which = random.below(results.size());
      const std::size_t kind = random.below(kOperationKinds - 1);
      const std::uint64_t latency = random.below(10'000'000);
      KindTally& tally = results[which]->tally.kinds[kind];
      tally.record(random.below(100) == 0 ? Outcome::wrong : Outcome::ok, latency);
      tally.intended.record(latency * 2);
      now[which][kind].record(latency * 2);
    }
    for (std::size_t which = 0; which < results.size(); ++which) {
      Second made;
      made.length_ns = kNsPerS;
      for (std::size_t kind = 0; kind < kOperationKinds; ++kind) {
        made.operations += now[which][kind].count();
        made.latency[kind] = SparseHistogram(now[which][kind]);
      }
      add_second(results[which]->series, second, made);
    }
  }
}

RunResult with_facts(std::uint64_t start_ms) {
  RunResult result;
  result.figures.run_time_ms = 2000;
  result.figures.start_unix_ms = start_ms;
  result.figures.client_cpu_ns = 123;
  result.figures.warmup_ms = 500;
  result.figures.warmup = {7, 2, 1};
  result.schedule = {.rate_per_s = 2500,
                     .arrivals = Arrivals::poisson,
                     .sent = 5000,
                     .unsent = 3,
                     .length_ns = 2 * kNsPerS,
                     .max_lag_ns = 5,
                     .last_lag_ns = 4};
  result.clients.push_back(
      {"0.1", "mxkv-ycsb run 'a \"b\"'", "left \xC3\xA4", {{"depth", "8"}}, this_machine()});
  ServerFacts server;
  server.address = "127.0.0.1:11211";
  server.version = "9";
  server.cpu_source = "process";
  server.pid = 17;
  server.before_unix_ms = start_ms;
  server.after_unix_ms = start_ms + 2000;
  server.cpu_before_ns = start_ms * 10;
  server.cpu_after_ns = start_ms * 10 + 600;
  server.before = {{"cmd_get", "5"}};
  server.after = {{"cmd_get", "5005"}};
  result.servers.push_back(server);
  return result;
}

TEST(ResultJson, ComesBackAsItWas) {
  RunResult result = with_facts(1000);
  record_randomly({&result}, 1);
  result.problem = "a \"problem\"";
  const std::string text = to_json(result);
  const auto back = from_json(text);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(back.value()), text);
  EXPECT_EQ(back.value().tally.operations(), 10'000U);
  EXPECT_EQ(back.value().schedule.unsent, 3U);
  EXPECT_EQ(back.value().series.size(), 2U);
}

TEST(ResultJson, SaysWhatIsWrongWithAText) {
  const std::string good = to_json(with_facts(1000));
  const auto message_of = [](const std::string& text) {
    const auto result = from_json(text);
    return result.ok() ? "" : result.error().message;
  };
  EXPECT_EQ(message_of(good), "");
  EXPECT_THAT(message_of(""), HasSubstr("parse error"));
  EXPECT_THAT(message_of("[]"), HasSubstr("not a result of mxkv-ycsb"));
  EXPECT_THAT(message_of(R"({"format":"mxkv-ycsb result"})"), HasSubstr("format_version"));
  std::string changed = good;
  changed.replace(changed.find("\"run_time_ms\":2000"), 18, "\"run_time_ms\":\"x\"");
  EXPECT_THAT(message_of(changed), HasSubstr("must be number"));
}

TEST(Merge, EqualsOneRunThatSawAll) {
  RunResult parts[] = {with_facts(1000), with_facts(1000)};
  record_randomly({&parts[0], &parts[1]}, 42);
  RunResult whole = with_facts(1000);
  // The same random numbers, both parts being one and the same result.
  record_randomly({&whole, &whole}, 42);
  merge_into(parts[0], parts[1]);
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const KindTally& merged = parts[0].tally.kinds[i];
    const KindTally& one = whole.tally.kinds[i];
    EXPECT_EQ(merged.ok, one.ok);
    EXPECT_EQ(merged.wrong, one.wrong);
    EXPECT_EQ(SparseHistogram(merged.latency).buckets(), SparseHistogram(one.latency).buckets());
    EXPECT_EQ(merged.intended.sum(), one.intended.sum());
    EXPECT_EQ(merged.intended.percentile(99), one.intended.percentile(99));
  }
  ASSERT_EQ(parts[0].series.size(), whole.series.size());
  for (std::size_t i = 0; i < whole.series.size(); ++i) {
    EXPECT_EQ(parts[0].series[i].operations, whole.series[i].operations);
    EXPECT_EQ(parts[0].series[i].all().buckets(), whole.series[i].all().buckets());
  }
  EXPECT_DOUBLE_EQ(parts[0].throughput(), whole.throughput());
  EXPECT_DOUBLE_EQ(parts[0].schedule.rate_per_s, 5000);
  EXPECT_EQ(parts[0].clients.size(), 2U);
  ASSERT_EQ(parts[0].servers.size(), 1U);
  EXPECT_EQ(parts[0].servers[0].cpu_ns(), 600U);
}

TEST(Merge, MatchesSecondsByTheClock) {
  RunResult early = with_facts(1000);
  RunResult late = with_facts(3900);  // three seconds later, to the nearest second
  record_randomly({&early}, 1);
  record_randomly({&late}, 2);
  merge_into(late, early);
  ASSERT_EQ(late.series.size(), 5U);
  EXPECT_EQ(late.series[0].operations, 5000U);
  EXPECT_EQ(late.series[2].operations, 0U);
  EXPECT_EQ(late.series[4].operations, 5000U);
  EXPECT_EQ(late.figures.start_unix_ms, 1000U);
  EXPECT_EQ(late.figures.run_time_ms, 4900U);
  EXPECT_EQ(late.servers[0].cpu_ns(), 29'600U);  // from the first look to the last
}

TEST(Csv, HasTheRunAndEverySecond) {
  RunResult result = with_facts(1000);
  record_randomly({&result}, 1);
  std::istringstream lines(csv_text(result));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(
      line,
      "scope,start_s,length_s,operation,operations,ops_per_s,mean_us,min_us,p50_us,p90_us,p95_us,p99_us,"
      "p99.9_us,p99.99_us,max_us");
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("run,0,2.000,ALL,10000,5000.0,")) << line;
  int seconds = 0;
  while (std::getline(lines, line)) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 14) << line;
    seconds += line.starts_with("second,1,1.000,ALL,5000,5000.0,") ? 1 : 0;
  }
  EXPECT_EQ(seconds, 1);
}

TEST(Hgrm, IsHdrHistogramsPercentileOutput) {
  Histogram histogram;
  for (std::uint64_t i = 1; i <= 100'000; ++i) {
    histogram.record(i * 100);
  }
  std::istringstream lines(hgrm_text(histogram));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "       Value     Percentile TotalCount 1/(1-Percentile)");
  std::getline(lines, line);
  EXPECT_EQ(line, "");
  double last_value = 0;
  double last_percentile = -1;
  int rows = 0;
  while (std::getline(lines, line) && !line.starts_with("#")) {
    std::istringstream row(line);
    double value = 0;
    double percentile = 0;
    std::uint64_t count = 0;
    ASSERT_TRUE(row >> value >> percentile >> count) << line;
    EXPECT_GE(value, last_value);
    EXPECT_GT(percentile, last_percentile);
    EXPECT_GE(static_cast<double>(count), percentile * 100'000 - 1e-6);
    EXPECT_NEAR(value, static_cast<double>(count) / 10, static_cast<double>(count) / 1000) << line;
    last_value = value;
    last_percentile = percentile;
    ++rows;
  }
  EXPECT_GT(rows, 40);
  EXPECT_EQ(last_value, 10'000);
  EXPECT_EQ(last_percentile, 1);
  EXPECT_THAT(line, HasSubstr("#[Mean    =     5000.050, StdDeviation   =     2886."));
}

TEST(Hgrm, OfNothingHasNoRows) {
  EXPECT_THAT(hgrm_text(Histogram()), HasSubstr("Total count    =            0]"));
}

TEST(ServerCounters, AreReadFromMemcachedAndRedis) {
  const Counters stats = parse_statistics(StatisticsDialect::memcached,
                                          "STAT pid 12\r\nSTAT version 1 b\r\nSTAT rusage_user 1.5\r\n"
                                          "STAT rusage_system 0.25\r\nEND\r\n");
  EXPECT_EQ(stats.size(), 4U);
  EXPECT_EQ(stats.at("version"), "1 b");
  EXPECT_EQ(counted_cpu_ns(StatisticsDialect::memcached, stats), 1'750'000'000U);
  const Counters info = parse_statistics(StatisticsDialect::redis,
                                         "$60\r\n# Server\r\nredis_version:7.0\r\nused_cpu_sys:0.5\r\n"
                                         "used_cpu_user:0.25\r\n\r\n+OK\r\n");
  EXPECT_EQ(info.at("redis_version"), "7.0");
  EXPECT_EQ(info.size(), 3U);
  EXPECT_EQ(counted_cpu_ns(StatisticsDialect::redis, info), 750'000'000U);
  EXPECT_EQ(counted_cpu_ns(StatisticsDialect::redis, {}), 0U);
}

TEST(Machine, KnowsItsCpusAndKernel) {
  const Machine machine = this_machine();
  EXPECT_GE(machine.cpus, machine.cpus_allowed);
  EXPECT_GT(machine.cpus_allowed, 0U);
  EXPECT_GT(machine.memory_bytes, 0U);
  EXPECT_THAT(machine.kernel, HasSubstr("Linux "));
}

TEST(CommandLine, IsQuotedForAShell) {
  const char* const words[] = {"mxkv-ycsb", "-p", "a=b c", "it's", ""};
  EXPECT_EQ(quoted_command(5, words), "mxkv-ycsb -p 'a=b c' 'it'\\''s' ''");
}

}  // namespace
}  // namespace mxkv::bench
