// The report has YCSB's lines, and failures decide the exit code.
#include "bench/client/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/client/runner.hpp"

namespace mxkv::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Report, HasYcsbsLines) {
  RunResult result;
  Tally& tally = result.tally;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    tally.of(OperationKind::read).record(Outcome::ok, i * 1000);
  }
  tally.of(OperationKind::read).record(Outcome::wrong, 1000);
  tally.of(OperationKind::update).record(Outcome::ok, 5000);
  result.figures.run_time_ms = 2000;
  result.figures.client_cpu_ns = 10'200;
  const std::string text = report(result);
  for (const char* line :
       {"[OVERALL], RunTime(ms), 2000\n", "[OVERALL], Throughput(ops/sec), 51.000\n",
        "[CLIENT], CPU(ns/op), 100.0\n", "[READ], Operations, 101\n", "[READ], MinLatency(us), 1\n",
        "[READ], MaxLatency(us), 100\n", "[READ], 50thPercentileLatency(us), 50\n",
        "[READ], 95thPercentileLatency(us), ", "[READ], 99thPercentileLatency(us), ",
        "[READ], 99.9PercentileLatency(us), 100\n", "[READ], 99.99PercentileLatency(us), 100\n",
        "[READ], Return=OK, 100\n", "[READ], Return=UNEXPECTED_STATE, 1\n",
        "[UPDATE], AverageLatency(us), 5.000\n", "[UPDATE], Return=OK, 1\n", "[VERIFY], Operations, 101\n",
        "[VERIFY], Return=OK, 100\n", "[VERIFY], Return=UNEXPECTED_STATE, 1\n",
        "[VERIFY], Return=ERROR, 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("[SCAN]")));
}

Progress ten_seconds() {
  Progress progress;
  progress.elapsed_ms = 10'000;
  progress.operations = 1000;
  progress.interval_ms = 2000;
  progress.interval_operations = 500;
  progress.total_operations = 3000;
  return progress;
}

TEST(Report, ProgressSaysRatesAndRemainingTime) {
  EXPECT_EQ(
      progress_line(ten_seconds(), "now"),
      "now 10 sec: 1000 operations; 250.0 current ops/sec; 100.0 mean ops/sec; est completion in 20 seconds");
}

TEST(Report, ProgressGoesByTheTimeLimitWhereThatComesFirst) {
  Progress progress = ten_seconds();
  progress.total_ms = 15'000;
  EXPECT_THAT(progress_line(progress, "now"), HasSubstr("est completion in 5 seconds"));
  progress.total_ms = 60'000;
  EXPECT_THAT(progress_line(progress, "now"), HasSubstr("est completion in 20 seconds"));
}

TEST(Report, ProgressHasTheLatenciesOfTheInterval) {
  Histogram reads;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    reads.record(i * 1000);
  }
  Progress progress = ten_seconds();
  progress.label = "left";
  progress.recent.latency[0] = SparseHistogram(reads);
  const std::string line = progress_line(progress, "now");
  EXPECT_TRUE(line.starts_with("left now 10 sec: ")) << line;
  EXPECT_THAT(line, HasSubstr("[READ: Count=100, Max=100, Min=1, Avg=50.5, 50=50, 99=99, 99.9=100]"));
}

TEST(Report, OfAPacedRunHasBothLatenciesAndTheSchedule) {
  RunResult result;
  KindTally& reads = result.tally.of(OperationKind::read);
  reads.record(Outcome::ok, 5000);
  reads.intended.record(905'000'000);
  result.schedule.rate_per_s = 100;
  result.schedule.max_lag_ns = 900'000'000;
  const std::string text = report(result);
  EXPECT_THAT(text, HasSubstr("[READ], MaxLatency(us), 5\n"));
  EXPECT_THAT(text, HasSubstr("[Intended-READ], MaxLatency(us), 905000\n"));
  EXPECT_THAT(text, HasSubstr("[SCHEDULE], Target(ops/sec), 100.000\n"));
  EXPECT_THAT(text, HasSubstr("[SCHEDULE], FellBehind, 1\n"));
  EXPECT_THAT(schedule_warning(result.schedule), HasSubstr("up to 900 ms late"));
  EXPECT_EQ(schedule_warning({}), "");
}

TEST(Report, SaysWhatTheServerSpentOnAnOperation) {
  RunResult result;
  result.tally.of(OperationKind::read).record(Outcome::ok, 5000);
  EXPECT_THAT(report(result), Not(HasSubstr("[SERVER]")));
  result.servers.emplace_back();
  result.servers[0].cpu_before_ns = 1000;
  result.servers[0].cpu_after_ns = 1700;
  EXPECT_THAT(report(result), HasSubstr("[SERVER], CPU(ns/op), 700.0\n"));
}

TEST(ExitCode, IsZeroOnlyWithoutFailures) {
  RunResult result;
  result.tally.of(OperationKind::read).record(Outcome::ok, 1);
  EXPECT_EQ(exit_code_of(result, false), 0);
  for (const Outcome outcome : {Outcome::wrong, Outcome::error, Outcome::out_of_step}) {
    RunResult failed = result;
    failed.tally.of(OperationKind::scan).record(outcome, 1);
    EXPECT_EQ(exit_code_of(failed, true), 1);
  }
  result.tally.of(OperationKind::read).record(Outcome::not_found, 1);
  EXPECT_EQ(exit_code_of(result, false), 1);
  EXPECT_EQ(exit_code_of(result, true), 0);
  RunResult warmup;
  warmup.figures.warmup.failures = 1;
  EXPECT_EQ(exit_code_of(warmup, true), 1);
  result.problem = "closed";
  EXPECT_EQ(exit_code_of(result, true), 1);
}

}  // namespace
}  // namespace mxkv::bench
