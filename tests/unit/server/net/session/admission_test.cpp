// Which connection comes first if large values or TLS handshakes find no room, and which stalled ones are closed for it.
#include "server/net/session/admission.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "server/net/tls/tls_stream.hpp"
#include "tests/unit/server/net/worker/two_workers.hpp"

namespace mxkv::server::test {
namespace {

class Owner final : public ConnectionOwner {
 public:
  void resume() override {}
};

constexpr std::uint64_t kRoom = 1000;

TEST(Admission, OneAloneMayHaveMoreThanTheRoom) {
  Admission admission;
  Owner one;
  EXPECT_TRUE(admission.admits(2 * kRoom, kRoom));
  admission.take(one, 2 * kRoom);
  EXPECT_FALSE(admission.admits(1, kRoom));
  admission.give(one);
  admission.give(one);
  EXPECT_EQ(admission.held(), 0U) << "given back once";
}

TEST(Admission, SmallOnesGoFirstAndEqualOnesInTheirOrder) {
  Admission admission;
  std::deque<Owner> owners(4);
  admission.wait(owners[0], 900, 10);
  admission.wait(owners[1], 100, 11);
  admission.wait(owners[2], 120, 12);
  admission.wait(owners[3], 910, 13);
  admission.wait(owners[1], 100, 14);
  EXPECT_EQ(admission.waiting(), 4U) << "one that waits keeps its place";
  for (const int expected : {1, 2, 0, 3}) {
    const Owner& first = owners[static_cast<std::size_t>(expected)];
    EXPECT_EQ(admission.next(20)->owner, &first);
    admission.forget(first);
  }
  EXPECT_EQ(admission.next(20), std::nullopt);
}

TEST(Admission, WhereABurstMadeOneWaitForLongTheLastOfASizeGoesFirst) {
  Admission admission;
  std::deque<Owner> owners(3);
  admission.wait(owners[0], 100, 0);
  admission.wait(owners[1], 100, 1);
  admission.wait(owners[2], 900, 2);
  EXPECT_EQ(admission.next(Admission::kCrowdedNs)->owner, &owners[0]);
  EXPECT_EQ(admission.next(Admission::kCrowdedNs + 1)->owner, &owners[1]);
}

TEST(Admission, IsLookedAtWhenSomethingChangedOrTimePassed) {
  Admission admission;
  Owner one;
  Owner two;
  admission.take(two, kRoom);
  EXPECT_FALSE(admission.due(0)) << "nobody waits";
  admission.wait(one, 100, 1);
  EXPECT_TRUE(admission.due(1));
  EXPECT_FALSE(admission.due(2));
  admission.give(two);
  EXPECT_TRUE(admission.due(3));
  EXPECT_FALSE(admission.due(3 + Admission::kLookEveryNs - 1));
  EXPECT_TRUE(admission.due(3 + Admission::kLookEveryNs));
}

/// A server whose room for large values is taken by clients that began a value and send no more.
class HeldValues : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 1'000'000;
  HeldValues() {
    server.machine.runtime.budget().set_limit_bytes(std::size_t{8} << 20U);
    server.run();
    const SessionHost& host = server.nets[0].host();
    while (host.values.waiting() < 3) {
      hold(kBytes);
    }
    if (const std::size_t left = host.value_room() - host.values.held(); left > 50'000) {
      hold(left);  // or smaller values would find room
    }
    while (host.small_values.admits(100'000, host.small_value_room())) {
      hold(100'000);
    }
  }
  void hold(std::size_t bytes) {
    holders.emplace_back(server, 0).send("set held 0 0 " + std::to_string(bytes) + "\r\nsome");
  }
  [[nodiscard]] std::size_t gone() {
    return static_cast<std::size_t>(
        std::ranges::count_if(holders, [](WorkerClient& one) { return one.closed(); }));
  }
  static std::string value(const std::string& key, std::size_t bytes) {
    return "set " + key + " 0 0 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'v') + "\r\n";
  }

  TwoWorkers server;
  std::deque<WorkerClient> holders;
};

TEST(LargeValues, ThatAreHalfSentKeepNoSmallerValueOut) {
  TwoWorkers server;
  server.machine.runtime.budget().set_limit_bytes(std::size_t{8} << 20U);
  server.run();
  std::deque<WorkerClient> holders;
  while (server.nets[0].host().values.waiting() < 3) {
    holders.emplace_back(server, 0).send("set held 0 0 1000000\r\nsome");
  }
  WorkerClient honest{server, 0};
  EXPECT_EQ(honest.ask("set k 0 0 100000\r\n" + std::string(100'000, 'v') + "\r\n"), "STORED\r\n")
      << "at once";
  EXPECT_EQ(server.nets[0].host().small_values.held(), 0U);
  EXPECT_EQ(server.nets[0].host().values.waiting(), 3U);
}

TEST_F(HeldValues, OneThatStallsMakesRoomForASmallerOneAndNoMoreThanThatGo) {
  ASSERT_EQ(server.nets[0].host().values.waiting(), 3U);
  WorkerClient honest{server, 0};
  EXPECT_EQ(honest.ask(value("k", 100'000)), "");
  server.pass_ms(Admission::kStallsNs / 1'000'000 - 50);
  EXPECT_EQ(honest.received(), "") << "they may still send";
  EXPECT_EQ(gone(), 0U);
  server.pass_ms(100);
  EXPECT_EQ(honest.received(), "STORED\r\n");
  EXPECT_LE(gone(), 5U) << "one for each that waited, and one that was not enough";
}

TEST_F(HeldValues, OneThatSendsVerySlowlyStallsToo) {
  for (int tenth = 0; tenth < 5; ++tenth) {
    server.pass_ms(100);
    for (WorkerClient& holder : holders) {
      if (!holder.closed()) {
        holder.put("x");
      }
    }
    server.run();
  }
  WorkerClient honest{server, 0};
  EXPECT_EQ(honest.ask(value("k", 100'000)), "STORED\r\n");
}

TEST_F(HeldValues, ThatGoOnAreNotClosed) {
  for (int tenth = 0; tenth < 10; ++tenth) {
    server.pass_ms(100);
    for (WorkerClient& holder : holders) {
      if (!holder.closed()) {
        holder.put(std::string(7000, 'x'));
      }
    }
    server.run();
  }
  EXPECT_EQ(gone(), 0U) << "70 kB a second";
}

TEST_F(HeldValues, ABurstOfHalfSentValuesKeepsOutNoLaterClient) {
  std::deque<WorkerClient> burst;
  for (int i = 0; i < 400; ++i) {
    burst.emplace_back(server, 0).send("set held 0 0 100000\r\nsome");
  }
  EXPECT_GT(server.nets[0].host().small_values.waiting(), 100U);
  WorkerClient honest{server, 0};
  honest.send(value("k", 100'000));
  std::string got = honest.received();
  for (int look = 0; look < 12 && got.empty(); ++look) {
    server.pass_ms(25);
    got = honest.received();
  }
  EXPECT_EQ(got, "STORED\r\n");
}

}  // namespace
}  // namespace mxkv::server::test
