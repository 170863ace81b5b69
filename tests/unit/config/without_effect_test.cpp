// Which switches are reported to have no effect, and why.
#include "config/without_effect.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/load.hpp"
#include "tests/unit/config/fixture.hpp"

namespace mxkv::config {
namespace {

// "path what", one per line.
std::string told(const std::string& text, std::size_t workers = 2, std::size_t nodes = 0) {
  const TemporaryFile file{text};
  const runtime::Result<DaemonOptions> options = load(file.path(), {});
  if (!options.ok()) {
    return options.error().message;
  }
  std::string all;
  for (const Finding& finding : switches_without_effect(options.value(), workers, nodes)) {
    all.append(finding.path).append(" ").append(finding.what).append("\n");
  }
  return all;
}

std::string experimental(const std::string& switches) {
  return "experimental: {" + switches + "}\n";
}

TEST(WithoutEffect, NothingOfTheDefaultsIsTold) {
  EXPECT_EQ(told(""), "");
  const runtime::Result<DaemonOptions> example = load(MXKV_EXAMPLE_CONFIG, {});
  ASSERT_TRUE(example.ok());
  EXPECT_TRUE(switches_without_effect(example.value(), 2).empty()) << "a file that says the defaults";
  EXPECT_TRUE(switches_without_effect(example.value(), 1).empty());
}

TEST(WithoutEffect, OneWorkerSharesWithNobody) {
  const std::string text = experimental("order_reach: node");
  EXPECT_EQ(told(text, 1), "experimental.order_reach has no effect: there is only one worker\n");
  EXPECT_EQ(told(text, 0), "") << "how many there will be is not known";
}

TEST(WithoutEffect, BalancingNeedsTwoWorkersAndItsWindowBalancing) {
  const std::string off = "server: {balance: off}\n";
  EXPECT_EQ(told(off), "");
  EXPECT_EQ(told(off, 1), "server.balance has no effect: there is only one worker\n");
  const std::string accept = "server: {accept: machine}\n";
  EXPECT_EQ(told(accept), "") << "unknown, or two nodes";
  EXPECT_EQ(told(accept, 2, 2), "");
  EXPECT_EQ(told(accept, 2, 1), "server.accept has no effect: all workers are on one NUMA node\n");
  const std::string window = experimental("balance_window: 1s");
  EXPECT_EQ(told(window), "");
  EXPECT_EQ(told(window, 1), "experimental.balance_window has no effect: there is only one worker\n");
  EXPECT_EQ(told(off + window), "experimental.balance_window has no effect: server.balance is off\n");
}

TEST(WithoutEffect, ADistanceNeedsItsMode) {
  const std::string idle =
      "experimental.prefetch.distance has no effect: experimental.prefetch.mode is not distance\n";
  EXPECT_EQ(told(experimental("prefetch: {distance: 9}")), idle);
  EXPECT_EQ(told(experimental("prefetch: {mode: auto, distance: 9}")), idle);
  EXPECT_EQ(told(experimental("prefetch: {mode: distance, distance: 9}")), "");
  const std::string global = experimental("prefetch: {distance: 9}");
  EXPECT_EQ(told(global + "nodes: [{node: 0, experimental: {prefetch: {mode: distance}}}]\n"), "");
  EXPECT_EQ(told(global + "nodes: [{node: 0, experimental: {prefetch: {mode: distance, distance: 3}}}]\n"),
            idle);
  EXPECT_EQ(
      told("topologies: [{name: a, nodes: [{node: 0, experimental: {prefetch: {distance: 3}}}]}]\n"),
      "topologies[0].nodes[0].experimental.prefetch.distance has no effect: the mode of its prefetching "
      "is not distance\n");
}

TEST(WithoutEffect, WhatIsLoggedAndTimedIsOfTheSameKind) {
  EXPECT_EQ(told("stats: {sample: off, slow: 5ms}\nlog: {rotate_files: 3}\n"),
            "stats.slow has no effect: stats.sample is off, so that no request is timed\n"
            "log.rotate_files has no effect: log.rotate_bytes is off\n");
  EXPECT_EQ(told("stats: {slow: 5ms}\nlog: {rotate_files: 3, rotate_bytes: 1MiB}\n"), "");
}

TEST(WithoutEffect, DurabilityWithoutADirectory) {
  const std::string why = " has no effect: durability.directory is none, so that nothing is written\n";
  EXPECT_EQ(told("durability: {sync: 1s, reads: latest, checkpoint: {every: 1h, compress: zstd}}\n"),
            "durability.sync" + why + "durability.reads" + why + "durability.checkpoint.every" + why +
                "durability.checkpoint.compress" + why);
  EXPECT_EQ(told("durability: {directory: d, sync: never, reads: latest}\n"),
            "durability.reads has no effect: durability.sync is not commit, so that no read waits\n");
  EXPECT_EQ(told("durability: {directory: d, reads: latest}\n"), "");
}

TEST(WithoutEffect, IsToldAtThePlaceOfTheValue) {
  const TemporaryFile file{"workers: 2\nexperimental:\n  prefetch: {distance: 9}\n"};
  const DaemonOptions options = load(file.path(), std::vector<std::string>{"log.rotate_files=2"}).value();
  const Findings findings = switches_without_effect(options, 2);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(to_string(findings[0]), file.path().string() +
                                        ":3:24: experimental.prefetch.distance: has no effect: "
                                        "experimental.prefetch.mode is not distance");
  EXPECT_EQ(to_string(findings[1]), "--set log.rotate_files: has no effect: log.rotate_bytes is off");
}

}  // namespace
}  // namespace mxkv::config
