// Marks in a connection's output: which output may leave, and what happens when there are more marks than
// room.
#include "server/reply/output_gate.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace mxkv::server {
namespace {

TEST(OutputGate, AllMayLeaveWithoutAMark) {
  const OutputGate gate;
  EXPECT_FALSE(gate.holds());
  EXPECT_EQ(gate.sendable(100, 7), 7U);
}

TEST(OutputGate, BytesBehindAMarkWaitForItsEpoch) {
  OutputGate gate;
  gate.add(10, 3);
  gate.add(20, 4);
  EXPECT_EQ(gate.sendable(4, 100), 6U);
  EXPECT_TRUE(gate.lets(10));
  EXPECT_FALSE(gate.lets(11));
  EXPECT_FALSE(gate.open(2));
  EXPECT_TRUE(gate.open(3));
  EXPECT_EQ(gate.sendable(10, 100), 10U);
  EXPECT_TRUE(gate.open(9));
  EXPECT_FALSE(gate.holds());
  EXPECT_EQ(gate.sendable(20, 100), 100U);
  EXPECT_TRUE(gate.lets(1000));
}

TEST(OutputGate, AMarkForNoLaterEpochAddsNothing) {
  OutputGate gate;
  gate.add(10, 3);
  gate.add(20, 3);
  gate.add(30, 2);
  EXPECT_TRUE(gate.open(3));
  EXPECT_FALSE(gate.holds());
}

TEST(OutputGate, PlacesMayWrapAround) {
  OutputGate gate;
  const std::size_t end = ~std::size_t{0} - 4;
  gate.add(end + 10, 1);
  EXPECT_EQ(gate.sendable(end, 100), 10U);
  EXPECT_TRUE(gate.lets(end + 10));
  EXPECT_FALSE(gate.lets(end + 11));
}

// Whichever marks are merged: no output leaves before its own epoch is on disk, and all leaves when all is.
TEST(OutputGate, MergedMarksHoldMoreAndNeverLess) {
  constexpr std::size_t kMarks = 3 * OutputGate::kMostMarks;
  OutputGate gate;
  for (std::size_t i = 0; i < kMarks; ++i) {
    gate.add(10 * i, i + 1);
  }
  std::size_t sent = 0;
  std::size_t steps = 0;
  for (std::uint64_t durable = 1; durable <= kMarks; ++durable) {
    steps += gate.open(durable) ? 1 : 0;
    sent += gate.sendable(sent, 10 * kMarks - sent);
    EXPECT_LE(sent, 10 * durable);
  }
  EXPECT_EQ(sent, 10 * kMarks);
  EXPECT_EQ(steps, OutputGate::kMostMarks);
}

}  // namespace
}  // namespace mxkv::server
