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
  Tally tally;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    tally.of(OperationKind::read).record(Outcome::ok, i * 1000);
  }
  tally.of(OperationKind::read).record(Outcome::wrong, 1000);
  tally.of(OperationKind::update).record(Outcome::ok, 5000);
  const std::string text = report(tally, {.run_time_ms = 2000, .client_cpu_ns = 10'200});
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

TEST(Report, ProgressSaysRateAndRemainingTime) {
  const std::string line = progress_line({.elapsed_ms = 10'000,
                                          .operations = 1000,
                                          .interval_ms = 2000,
                                          .interval_operations = 500,
                                          .total_operations = 3000},
                                         "now");
  EXPECT_EQ(line, "now 10 sec: 1000 operations; 250.0 current ops/sec; est completion in 20 seconds");
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
  result.problem = "closed";
  EXPECT_EQ(exit_code_of(result, true), 1);
}

}  // namespace
}  // namespace mxkv::bench
