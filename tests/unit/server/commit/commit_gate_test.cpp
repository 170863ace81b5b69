// The gate wakes the workers that wait, and pauses reads by the bytes that wait.
#include "server/commit/commit_gate.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace mxkv::server::testing {
namespace {

class SteppedGate final : public CommitGate {
 public:
  SteppedGate(std::size_t workers, CommitGateOptions options) : CommitGate(workers, std::move(options)) {}

  [[nodiscard]] Round begin_round(runtime::WorkerId /*worker*/, std::uint64_t now_us) noexcept override {
    return {now_us, 0};
  }
  void end_round(runtime::WorkerId /*worker*/) noexcept override {}
  void park(runtime::WorkerId /*worker*/) noexcept override {}
  [[nodiscard]] std::uint64_t must_wait_for() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t durable() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t broken() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept override { return bytes; }
  void change() const { changed(); }

  std::uint64_t bytes = 0;
  int times_wanted = 0;

 private:
  void wanted() noexcept override { ++times_wanted; }
};

constexpr runtime::WorkerId worker(std::uint16_t number) {
  return runtime::WorkerId{number};
}

TEST(CommitGate, WakesTheWorkersThatWaitAndNoOthers) {
  std::vector<std::size_t> woken;
  SteppedGate gate{3, {.wake = [&woken](std::size_t one) { woken.push_back(one); }}};
  gate.change();
  EXPECT_TRUE(woken.empty());
  gate.waits(worker(0), true);
  gate.waits(worker(2), true);
  gate.change();
  EXPECT_EQ(woken, (std::vector<std::size_t>{0, 2}));
  gate.waits(worker(0), false);
  gate.change();
  EXPECT_EQ(woken, (std::vector<std::size_t>{0, 2, 2}));
}

TEST(CommitGate, AsksForACommitWhenAWorkerBeginsToWait) {
  SteppedGate gate{1, {}};
  gate.waits(worker(0), true);
  EXPECT_EQ(gate.times_wanted, 1);
  gate.waits(worker(0), false);
  EXPECT_EQ(gate.times_wanted, 1);
}

TEST(CommitGate, PausesReadsAboveItsBytes) {
  SteppedGate gate{1, {.most_waiting = 100}};
  gate.bytes = 100;
  EXPECT_FALSE(gate.reads_paused());
  gate.bytes = 101;
  EXPECT_TRUE(gate.reads_paused());
}

TEST(CommitGate, WithoutALimitReadsAreNeverPaused) {
  SteppedGate gate{1, {}};
  gate.bytes = ~std::uint64_t{0};
  EXPECT_FALSE(gate.reads_paused());
}

}  // namespace
}  // namespace mxkv::server::testing
