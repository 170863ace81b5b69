// Whole runs over a socket: a right server passes, and every way to be wrong ends in a failure.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "bench/client/runner.hpp"
#include "bench/workload/core_workload.hpp"
#include "tests/unit/bench/map_server.hpp"
#include "tests/unit/bench/wire_fixture.hpp"

namespace mxkv::bench {
namespace {

constexpr std::uint64_t kRecords = 300;
constexpr std::uint64_t kOperations = 2000;

class ClientRun : public ::testing::Test {
 protected:
  [[nodiscard]] Options options_for(const char* mix) const {
    Options options;
    options.server = {"127.0.0.1", server_.port()};
    options.workload.mix = mix_by_name(mix).value();
    options.workload.record_count = kRecords;
    options.workload.operation_count = kOperations;
    options.workload.fields = testing::one_field(50);
    options.depth = 8;
    options.refill = 8;
    options.status_interval_s = 0;
    return options;
  }

  RunResult load() {
    Options options = options_for("c");
    options.workload.load = true;
    return run_client(options).value();
  }

  RunResult run(const char* mix) { return run_client(options_for(mix)).value(); }

  testing::MapServer server_;
  std::uint64_t refused_ = 0;
};

TEST_F(ClientRun, LoadStoresEveryRecord) {
  const RunResult result = load();
  EXPECT_EQ(exit_code_of(result, false), 0);
  EXPECT_EQ(result.tally.of(OperationKind::insert).ok, kRecords);
  EXPECT_EQ(server_.store().size(), kRecords);
}

TEST_F(ClientRun, EveryWorkloadPassesOnARightServer) {
  load();
  for (const char* mix : {"a", "b", "c", "d", "e", "f", "get", "set", "scan"}) {
    server_.store().clear();
    load();
    const RunResult result = run(mix);
    EXPECT_EQ(exit_code_of(result, false), 0) << mix;
    EXPECT_EQ(result.tally.operations(), kOperations) << mix;
  }
}

TEST_F(ClientRun, AReadModifyWriteIsCountedAsAWholeAndAsItsParts) {
  load();
  for (const std::size_t depth : {1U, 8U}) {
    Options options = options_for("f");
    options.depth = depth;
    options.refill = depth;
    const RunResult result = run_client(options).value();
    const std::uint64_t whole = result.tally.of(OperationKind::read_modify_write).ok;
    EXPECT_EQ(result.tally.operations(), kOperations);
    EXPECT_NEAR(static_cast<double>(whole), kOperations / 2.0, kOperations / 10.0);
    EXPECT_EQ(result.tally.of(OperationKind::update).ok, whole);
    EXPECT_EQ(result.tally.of(OperationKind::read).ok, kOperations);
    EXPECT_GE(result.tally.of(OperationKind::read_modify_write).latency.min(),
              result.tally.of(OperationKind::update).latency.min());
  }
}

TEST_F(ClientRun, AReadModifyWriteThatFindsNothingWritesAllTheSameAndFailsOnce) {
  Options options = options_for("f");
  options.workload.mix = {.read_modify_write = 1};
  options.workload.operation_count = 1;
  const RunResult result = run_client(options).value();
  EXPECT_EQ(result.tally.of(OperationKind::read).not_found, 1U);
  EXPECT_EQ(result.tally.failures(false), 1U);
  EXPECT_EQ(server_.store().size(), 1U);
}

TEST_F(ClientRun, FailuresUpToTheAllowedNumberAreNoFailure) {
  load();
  server_.store().erase(server_.store().begin());
  const RunResult result = run("get");
  const std::uint64_t failures = result.tally.failures(false);
  ASSERT_GT(failures, 0U);
  EXPECT_EQ(exit_code_of(result, false, failures), 0);
  EXPECT_EQ(exit_code_of(result, false, failures - 1), 1);
}

TEST_F(ClientRun, PassesWithAPipelineRefilledAtEveryReply) {
  load();
  Options options = options_for("a");
  options.refill = 1;
  EXPECT_EQ(exit_code_of(run_client(options).value(), false), 0);
}

TEST_F(ClientRun, PacedSendsEveryOperationOfTheSchedule) {
  load();
  for (const Arrivals arrivals : {Arrivals::constant, Arrivals::poisson}) {
    for (const char* mix : {"a", "e", "f"}) {
      server_.store().clear();
      load();
      Options options = options_for(mix);
      options.target_ops_per_s = 50'000;
      options.arrivals = arrivals;
      const RunResult result = run_client(options).value();
      EXPECT_EQ(exit_code_of(result, false), 0) << mix;
      EXPECT_EQ(result.tally.operations(), kOperations) << mix;
      EXPECT_EQ(result.schedule.sent, kOperations) << mix;
      EXPECT_EQ(result.schedule.unsent, 0U) << mix;
      for (const KindTally& kind : result.tally.kinds) {
        EXPECT_EQ(kind.intended.count(), kind.latency.count()) << mix;
        EXPECT_GE(kind.intended.max(), kind.latency.max()) << mix;
      }
    }
  }
}

TEST_F(ClientRun, PacedCountsTheWaitingThatAStallCauses) {
  load();
  bool first = true;
  server_.set_fault([&first](const std::string&, std::string&) {
    if (std::exchange(first, false)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  });
  Options options = options_for("get");
  options.depth = options.refill = 1;
  options.target_ops_per_s = 1000;
  options.workload.operation_count = 300;
  const RunResult result = run_client(options).value();
  const KindTally& reads = result.tally.of(OperationKind::read);
  // One request met the stall; the requests that were due meanwhile waited before they were even sent.
  EXPECT_GE(reads.latency.max(), 300'000'000U);
  EXPECT_GE(reads.intended.percentile(50), 100'000'000U);
  EXPECT_GE(result.schedule.max_lag_ns, 290'000'000U);
  EXPECT_TRUE(result.schedule.fell_behind());
}

TEST_F(ClientRun, PacedFailsOnAConnectionThatCloses) {
  load();
  std::uint64_t left = 100;
  server_.set_fault([&left](const std::string&, std::string& reply) {
    if (left-- == 0) {
      reply.clear();
    }
  });
  Options options = options_for("get");
  options.target_ops_per_s = 20'000;
  const RunResult result = run_client(options).value();
  EXPECT_FALSE(result.problem.empty());
  EXPECT_EQ(result.tally.of(OperationKind::read).ok, 100U);
  EXPECT_EQ(exit_code_of(result, true), 1);
}

TEST_F(ClientRun, SecondsAddUpToTheRun) {
  load();
  const RunResult result = run("a");
  std::uint64_t sum = 0;
  for (const Second& second : result.series) {
    sum += second.operations;
  }
  EXPECT_EQ(sum, kOperations);
}

TEST_F(ClientRun, AWarmupThatIsNeverOverIsAFailure) {
  load();
  Options options = options_for("a");
  options.warmup_ms = 600'000;
  const RunResult result = run_client(options).value();
  EXPECT_EQ(result.tally.operations(), 0U);
  EXPECT_EQ(result.figures.warmup.operations, kOperations);
  EXPECT_NE(result.problem.find("warm-up"), std::string::npos);
  EXPECT_EQ(exit_code_of(result, false), 1);
}

TEST_F(ClientRun, FailsOnAMissingRecord) {
  load();
  server_.store().erase(server_.store().begin());
  const RunResult result = run("get");
  EXPECT_GT(result.tally.of(OperationKind::read).not_found, 0U);
  EXPECT_EQ(exit_code_of(result, false), 1);
  EXPECT_EQ(exit_code_of(result, true), 0);
}

TEST_F(ClientRun, FailsOnAWrongValue) {
  load();
  server_.store().begin()->second[20] ^= 1;
  const RunResult result = run("get");
  EXPECT_GT(result.tally.of(OperationKind::read).wrong, 0U);
  EXPECT_EQ(exit_code_of(result, true), 1);
}

TEST_F(ClientRun, FailsOnAScanThatSkipsARecord) {
  load();
  server_.store().erase(std::next(server_.store().begin(), 100));
  const RunResult result = run("scan");
  EXPECT_GT(result.tally.of(OperationKind::scan).wrong, 0U);
  EXPECT_EQ(exit_code_of(result, true), 1);
}

TEST_F(ClientRun, FailsOnARefusedWrite) {
  server_.set_fault([](const std::string& command, std::string& reply) {
    if (command == "set") {
      reply = "SERVER_ERROR out of memory storing object\r\n";
    }
  });
  const RunResult result = load();
  EXPECT_EQ(result.tally.of(OperationKind::insert).error, kRecords);
  EXPECT_EQ(exit_code_of(result, true), 1);
}

TEST_F(ClientRun, ALoadTriesRefusedInsertsAgainUpToTheLimit) {
  server_.set_fault([&](const std::string& command, std::string& reply) {
    if (command == "set" && refused_++ % 3 != 2) {
      reply = "SERVER_ERROR out of memory storing object\r\n";
    }
  });
  Options options = options_for("c");
  options.workload.load = true;
  options.depth = 1;
  options.refill = 1;
  options.workload.insert_retry_interval_s = 0;
  options.workload.insert_retries = 2;
  RunResult result = run_client(options).value();
  EXPECT_EQ(result.tally.of(OperationKind::insert).ok, kRecords);
  EXPECT_EQ(result.tally.retries, 2 * kRecords);
  EXPECT_EQ(result.tally.operations(), kRecords);
  EXPECT_EQ(exit_code_of(result, false), 0);

  options.workload.insert_retries = 1;
  result = run_client(options).value();
  EXPECT_GT(result.tally.of(OperationKind::insert).error, 0U);
  EXPECT_EQ(result.tally.operations(), kRecords);
  EXPECT_EQ(exit_code_of(result, false), 1);
}

TEST_F(ClientRun, ARefusedInsertIsTriedAgainAfterAPause) {
  server_.set_fault([&](const std::string& command, std::string& reply) {
    if (command == "set" && refused_++ == 0) {
      reply = "SERVER_ERROR out of memory storing object\r\n";
    }
  });
  Options options = options_for("c");
  options.workload.load = true;
  options.workload.insert_retry_interval_s = 0.001;
  options.workload.insert_retries = 1;
  const RunResult result = run_client(options).value();
  EXPECT_EQ(result.tally.of(OperationKind::insert).ok, kRecords);
  EXPECT_EQ(result.tally.retries, 1U);
}

TEST_F(ClientRun, ARunTriesNothingAgain) {
  server_.set_fault([](const std::string&, std::string& reply) { reply = "SERVER_ERROR busy\r\n"; });
  Options options = options_for("set");
  options.workload.mix = {.insert = 1};
  options.workload.insert_retries = 5;
  const RunResult result = run_client(options).value();
  EXPECT_EQ(result.tally.retries, 0U);
  EXPECT_EQ(result.tally.of(OperationKind::insert).error, kOperations);
}

TEST_F(ClientRun, FailsOnRepliesThatComeOneRequestLate) {
  load();
  std::string held = "END\r\n";
  server_.set_fault([&held](const std::string&, std::string& reply) { std::swap(held, reply); });
  const RunResult result = run("get");
  EXPECT_GT(result.tally.of(OperationKind::read).wrong, 0U);
  EXPECT_EQ(exit_code_of(result, true), 1);
}

TEST_F(ClientRun, FailsOnAConnectionThatCloses) {
  load();
  std::uint64_t left = 100;
  server_.set_fault([&left](const std::string&, std::string& reply) {
    if (left-- == 0) {
      reply.clear();
    }
  });
  const RunResult result = run("get");
  EXPECT_FALSE(result.problem.empty());
  EXPECT_EQ(result.tally.of(OperationKind::read).ok, 100U);
  EXPECT_EQ(exit_code_of(result, true), 1);
}

TEST_F(ClientRun, SaysWhichSocketItCannotConnectTo) {
  Options options = options_for("c");
  options.server = {.host = "", .port = 0, .path = "/nowhere/socket"};
  EXPECT_EQ(run_client(options).error().message,
            "cannot connect to unix:/nowhere/socket: No such file or directory");
}

TEST_F(ClientRun, SaysWhereItCannotConnect) {
  Options options = options_for("c");
  options.server.port = 1;
  const auto result = run_client(options);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("127.0.0.1:1"), std::string::npos);
}

TEST(Endpoints, AreHostAndPort) {
  EXPECT_EQ(parse_endpoint("[::1]:80").value().host, "::1");
  EXPECT_EQ(parse_endpoint("host:80").value().port, 80);
  EXPECT_EQ(parse_endpoint("unix:/a/b:1").value().path, "/a/b:1");
  EXPECT_EQ(text_of(parse_endpoint("unix:s").value()), "unix:s");
  EXPECT_EQ(text_of(parse_endpoint("host:80").value()), "host:80");
  EXPECT_EQ(text_of(parse_endpoint("[::1]:80").value()), "[::1]:80");
  for (const std::string& text :
       {std::string(), std::string("host"), std::string("::1"), std::string("host:0"),
        std::string("host:65617"), std::string("host:"), std::string(":80"), std::string("unix:"),
        "unix:" + std::string(200, 'x')}) {
    EXPECT_FALSE(parse_endpoint(text).ok()) << text;
  }
}

}  // namespace
}  // namespace mxkv::bench
