// A listening socket's looks: it accepts until nobody waits, and where it cannot, it looks again in time.
#include "server/net/sockets/listener.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/net/sockets/socket_events.hpp"
#include "tests/unit/server/net/sockets/loopback_listener.hpp"

namespace mxkv::server::test {
namespace {

struct Nobody {
  std::uint64_t word = 0;
};

class Listening : public testing::Test, private SocketReceiver, private WarningSink {
 protected:
  static constexpr std::uint64_t kMs = 1'000'000;

  Listening() {
    const int socket = door_.release();
    EXPECT_EQ(::fcntl(socket, F_SETFL, O_NONBLOCK), 0);
    EXPECT_EQ(::listen(socket, 100), 0);
    limits_.connections = 100;
    listener_.emplace(socket, counters_, shortage_, limits_, static_cast<SocketReceiver&>(*this));
    EXPECT_TRUE(events_.add(socket, listener_->bell(), EPOLLET));
  }
  ~Listening() override {
    for (const int socket : sockets_) {
      ::close(socket);
    }
  }
  void clients(int count) {
    for (int client = 0; client < count; ++client) {
      sockets_.push_back(door_.connect());
    }
  }
  /// A round of the worker; returns how long it may sleep.
  std::uint64_t round(std::uint64_t later_ns = 0) {
    now_ns_ += later_ns;
    EXPECT_FALSE(events_.take([](Nobody&, Readiness) {}));
    listener_->accept_waiting(now_ns_);
    return listener_->most_wait_ns(now_ns_);
  }

  static constexpr std::uint64_t kForever = runtime::Poller::kForever;

  LoopbackListener door_;
  runtime::ManualClock clock_;
  ConnectionCounters counters_;
  config::LimitOptions limits_;
  DescriptorShortage shortage_{clock_, counters_, *this};
  SocketEvents<Nobody> events_;
  std::optional<Listener> listener_;
  std::vector<int> sockets_;
  int accepted_ = 0;
  int refused_ = 0;

 private:
  [[nodiscard]] bool admits(int /*socket*/) override { return true; }
  [[nodiscard]] bool is_limited() const noexcept override { return true; }
  void accepted(int socket) override {
    ++accepted_;
    sockets_.push_back(socket);
  }
  void refused(int /*socket*/, bool /*by_address*/) override { ++refused_; }
  void warn(const std::string& /*text*/) override {}

  std::uint64_t now_ns_ = kMs;
};

TEST_F(Listening, AClientRingsAndIsAccepted) {
  EXPECT_EQ(round(), kForever);
  for (int time = 1; time <= 3; ++time) {
    clients(1);
    events_.wait(kForever);
    EXPECT_EQ(round(), kForever);
    EXPECT_EQ(accepted_, time);
  }
}

TEST_F(Listening, OverTheLimitAClientIsRefusedOnlyAfterAMoment) {
  limits_.connections = 2;
  clients(3);
  const std::uint64_t grace_ns = round();
  EXPECT_EQ(accepted_, 2);
  EXPECT_EQ(refused_, 0);
  ASSERT_GT(grace_ns, 0U);
  ASSERT_LT(grace_ns, kForever);
  clients(1);  // rings the bell, but it is not time yet
  EXPECT_EQ(round(grace_ns - 1), 1U);
  EXPECT_EQ(refused_, 0);
  EXPECT_EQ(round(1), kForever);
  EXPECT_EQ(refused_, 2);
  EXPECT_EQ(counters_.rejected, 2U);
}

TEST_F(Listening, WhoLeavesInThatMomentMakesRoomForTheNext) {
  limits_.connections = 1;
  clients(2);
  const std::uint64_t grace_ns = round();
  EXPECT_EQ(accepted_, 1);
  counters_.open.fetch_sub(1);
  EXPECT_EQ(round(grace_ns), kForever);
  EXPECT_EQ(accepted_, 2);
  EXPECT_EQ(refused_, 0);
}

TEST_F(Listening, MoreThanARoundTakesAreTakenInTheNext) {
  clients(70);
  EXPECT_EQ(round(), 0U) << "it must not sleep";
  EXPECT_EQ(accepted_, 64);
  EXPECT_EQ(round(), kForever);
  EXPECT_EQ(accepted_, 70);
}

TEST_F(Listening, AClosedOneIsNeverDue) {
  clients(1);
  listener_->close();
  EXPECT_EQ(round(1000 * kMs), kForever);
  EXPECT_EQ(accepted_, 0);
}

}  // namespace
}  // namespace mxkv::server::test
