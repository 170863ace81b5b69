// The latency of a forwarded request whose reply the owner's log holds back: both nodes report it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "tests/unit/server/net/peers/routed_nodes.hpp"

namespace mxkv::server::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Holds every reply to a write until the test releases it, as logs do until the brokers acknowledge.
class LateLog final : public CommitGate {
 public:
  LateLog() : CommitGate(kMostWorkers, {}) {}

  Round begin_round(runtime::WorkerId /*worker*/, std::uint64_t now_us) noexcept override {
    return {now_us, WorkerContext::kNoHorizon};
  }
  void end_round(runtime::WorkerId /*worker*/) noexcept override {}
  void park(runtime::WorkerId /*worker*/) noexcept override {}
  [[nodiscard]] std::uint64_t must_wait_for() const noexcept override { return 1; }
  [[nodiscard]] std::uint64_t durable() const noexcept override { return durable_; }
  [[nodiscard]] std::uint64_t broken() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept override { return 0; }

  void let_go() noexcept { durable_ = 1; }

 private:
  static constexpr std::size_t kMostWorkers = 8;

  void wanted() noexcept override {}

  std::atomic<std::uint64_t> durable_{0};
};

/// The longest latency that a node reports for a kind of command; 0: no request was timed.
std::uint64_t longest_ns(RoutedNode& node, command_kind kind) {
  LatencyHistogram::Counts counts{};
  for (const RequestSampler* const sampler : node.network().samplers()) {
    sampler->latencies(kind)->add_to(counts);
  }
  return LatencyHistogram::percentile(counts, 1'000'000);
}

template <class Condition>
void wait_until(const Condition& holds) {
  for (int look = 0; look < 60'000 && !holds(); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  ASSERT_TRUE(holds());
}

// One client asks the owner, one asks another node.
TEST(ForwardedTimes, BothNodesReportTheWaitForTheLog) {
  constexpr std::chrono::milliseconds kHeldFor{60};
  for (const std::size_t asked : {std::size_t{1}, std::size_t{0}}) {
    LateLog log;
    RoutedNode::Options usual{.splits = {"h", "p"}, .stats = {.sample = 1, .slow_ms = 1}};
    RoutedNode::Options late = usual;
    late.gate = &log;
    Nodes nodes{Nodes::Kinds{{usual, late, usual}}};
    BlockingClient client{nodes[asked].port()};
    client.send(set("key", "value"));
    wait_until([&nodes] { return nodes[1].sockets().held == 1; });
    const auto held = Clock::now();
    std::this_thread::sleep_for(kHeldFor);
    EXPECT_EQ(longest_ns(nodes[asked], command_kind::set), 0U) << "it is not answered";
    EXPECT_EQ(longest_ns(nodes[1], command_kind::set), 0U) << "its reply is held";
    const auto waited = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - held);
    log.let_go();
    for (std::size_t worker = 0; worker < usual.workers; ++worker) {
      nodes[1].network().wake(worker);
    }
    EXPECT_EQ(client.read_to("\r\n"), "STORED\r\n");
    for (const std::size_t node : {asked, std::size_t{1}}) {
      wait_until([&] { return longest_ns(nodes[node], command_kind::set) != 0; });
      EXPECT_GE(longest_ns(nodes[node], command_kind::set), static_cast<std::uint64_t>(waited.count()));
      const auto slow = nodes[node].network().slow_log().latest();
      ASSERT_EQ(slow.size(), 1U);
      EXPECT_EQ(slow[0].key, "key");
    }
  }
}

}  // namespace
}  // namespace mxkv::server::test
