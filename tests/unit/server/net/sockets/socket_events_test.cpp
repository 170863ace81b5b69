// Socket events: each one is reported once, whatever the sockets' owners do about it.
#include "server/net/sockets/socket_events.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace mxkv::server::test {
namespace {

/// One watched socket, and its client's end.
struct Pair {
  Pair() = default;
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    leave();
    ::close(own);
  }

  void unix_sockets() {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    own = ends[0];
    client = ends[1];
  }
  void tcp_sockets() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(listener, 1), 0);
    ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    client = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), size), 0);
    own = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
    ASSERT_GE(own, 0);
    ::close(listener);
  }
  void send(std::string_view bytes) const {
    ASSERT_EQ(::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] std::string received() const {
    std::array<char, 64> buffer{};
    const ssize_t got = ::recv(own, buffer.data(), buffer.size(), MSG_DONTWAIT);
    return {buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }
  void leave() {
    if (client >= 0) {
      ::close(std::exchange(client, -1));
    }
  }

  int own = -1;
  int client = -1;
  int told = 0;
  Readiness last{};
};

class Events : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      pair_.tcp_sockets();
    } else {
      pair_.unix_sockets();
    }
    ASSERT_TRUE(events_.add(pair_.own, pair_));
    pair_.told = told();  // a new socket may be reported at once
    pair_.told = 0;
  }
  /// Takes the events. Returns how often the pair was reported since the last call.
  int told() {
    pair_.told = 0;
    EXPECT_FALSE(events_.take([](Pair& pair, Readiness now) {
      ++pair.told;
      pair.last = now;
    }));
    return pair_.told;
  }
  void fill_output() const {
    const std::string bytes(1 << 16U, 'x');
    while (::send(pair_.own, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
    }
  }
  void take_output() const {
    std::string bytes(1 << 16U, 'x');
    while (::recv(pair_.client, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
  }
  /// Whether a wait on the set would return at once.
  [[nodiscard]] bool wakes() const {
    pollfd waited{events_.descriptor(), POLLIN, 0};
    return ::poll(&waited, 1, 0) == 1;
  }

  SocketEvents<Pair> events_;
  Pair pair_;
};

TEST_P(Events, BytesAreReportedOnceHoweverLongTheyStay) {
  pair_.send("one");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(pair_.last.input);
  EXPECT_FALSE(pair_.last.read_on);
  for (int round = 0; round < 100; ++round) {
    EXPECT_FALSE(wakes());
    EXPECT_EQ(told(), 0);
  }
}

TEST_P(Events, BytesThatArriveLaterAreReportedAgain) {
  pair_.send("one");
  EXPECT_EQ(told(), 1);
  pair_.send("two");
  EXPECT_TRUE(wakes());
  EXPECT_EQ(told(), 1);
  EXPECT_EQ(pair_.received(), "onetwo");
  EXPECT_EQ(told(), 0);
}

TEST_P(Events, TheEndOfInputComesWithTheBytesBeforeIt) {
  pair_.send("last");
  ::shutdown(pair_.client, SHUT_WR);
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(pair_.last.input);
  EXPECT_TRUE(pair_.last.read_on);
}

TEST_P(Events, AnEndAfterReportedBytesIsReported) {
  pair_.send("last");
  EXPECT_EQ(told(), 1);
  ::shutdown(pair_.client, SHUT_WR);
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(pair_.last.read_on);
}

TEST_P(Events, BytesBehindUrgentOnesAreReadOnFor) {
  if (!GetParam()) {
    GTEST_SKIP() << "not every system has them on unix sockets";
  }
  pair_.send("before");
  ASSERT_EQ(::send(pair_.client, "!", 1, MSG_OOB), 1);
  pair_.send("behind");
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(pair_.last.read_on);
  EXPECT_EQ(pair_.received(), "before");
  EXPECT_EQ(pair_.received(), "behind");
}

TEST_P(Events, AClientThatLeftIsReportedOnce) {
  pair_.send("unread");
  EXPECT_EQ(told(), 1);
  pair_.leave();
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(pair_.last.read_on);
  for (int round = 0; round < 100; ++round) {
    EXPECT_FALSE(wakes());
    EXPECT_EQ(told(), 0);
  }
}

TEST_P(Events, ABrokenConnectionIsReportedToOwnersThatWaitForOutput) {
  fill_output();
  events_.watch_output(pair_.own, pair_, true);
  EXPECT_EQ(told(), 0);
  const linger abort{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(pair_.client, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
  pair_.leave();
  EXPECT_GE(told(), 1);
  EXPECT_TRUE(pair_.last.read_on);
  EXPECT_TRUE(pair_.last.output);
  EXPECT_FALSE(wakes());
}

TEST_P(Events, OutputIsReportedOnlyWhileItIsWatched) {
  fill_output();
  take_output();
  EXPECT_EQ(told(), 0);
  fill_output();
  events_.watch_output(pair_.own, pair_, true);
  EXPECT_EQ(told(), 0);
  take_output();
  EXPECT_GE(told(), 1);
  EXPECT_TRUE(pair_.last.output);
  EXPECT_FALSE(pair_.last.input);
  events_.watch_output(pair_.own, pair_, false);
  fill_output();
  take_output();
  EXPECT_EQ(told(), 0);
}

TEST_P(Events, OutputThatWasReadBeforeItIsWatchedIsReported) {
  fill_output();
  take_output();
  events_.watch_output(pair_.own, pair_, true);
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(pair_.last.output);
}

TEST_P(Events, BytesThatCameBeforeOutputIsWatchedAreNotLost) {
  pair_.send("one");
  fill_output();
  events_.watch_output(pair_.own, pair_, true);
  events_.watch_output(pair_.own, pair_, false);
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(pair_.last.input);
}

TEST_P(Events, AClosedSocketIsNotToldOf) {
  pair_.send("one");
  ::close(std::exchange(pair_.own, -1));
  EXPECT_EQ(told(), 0);
  EXPECT_FALSE(wakes());
}

TEST_P(Events, EachWakeEndsOneSleepAndReportsNoSocket) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(wakes());
    events_.wake();
    events_.wake();
    EXPECT_TRUE(wakes());
    EXPECT_EQ(told(), 0);
  }
  EXPECT_FALSE(wakes());
}

TEST_P(Events, AWaitKeepsWhatItWasToldForTheNextTake) {
  pair_.send("one");
  events_.wait(runtime::Poller::kForever);
  events_.wait(runtime::Poller::kForever);  // the first one's events are not taken yet
  pair_.send("two");
  EXPECT_EQ(told(), 1);
  EXPECT_EQ(told(), 1) << "of the bytes that came after the wait";
  EXPECT_EQ(told(), 0);
  EXPECT_EQ(pair_.received(), "onetwo");
}

TEST_P(Events, AWaitEndsByAWakeOrByItsTime) {
  events_.wake();
  events_.wait(runtime::Poller::kForever);
  EXPECT_EQ(told(), 0);
  events_.wait(0);
  events_.wait(1);
  events_.wait(1'000'001);
  EXPECT_EQ(told(), 0);
  events_.wake();
  events_.wait(~std::uint64_t{0} - 1);
  EXPECT_EQ(told(), 0);
}

INSTANTIATE_TEST_SUITE_P(Sockets, Events, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Tcp" : "Unix"; });

TEST(EventsOfMany, ThatDoNotFitAtOnceComeTheNextTime) {
  SocketEvents<Pair> events;
  std::deque<Pair> pairs(SocketEvents<Pair>::kMostAtOnce + 3);
  for (Pair& pair : pairs) {
    pair.unix_sockets();
    ASSERT_TRUE(events.add(pair.own, pair));
    pair.send("x");
  }
  const auto tell = [](Pair& pair, Readiness /*now*/) { ++pair.told; };
  EXPECT_TRUE(events.take(tell));
  EXPECT_FALSE(events.take(tell));
  for (const Pair& pair : pairs) {
    EXPECT_EQ(pair.told, 1);
  }
}

TEST(EventsOfMany, AWaitIsToldOfAsManyAsATake) {
  SocketEvents<Pair> events;
  std::deque<Pair> pairs(SocketEvents<Pair>::kMostAtOnce + 3);
  for (Pair& pair : pairs) {
    pair.unix_sockets();
    ASSERT_TRUE(events.add(pair.own, pair));
    pair.send("x");
  }
  events.wait(runtime::Poller::kForever);
  std::size_t told = 0;
  const auto tell = [&told](Pair& /*pair*/, Readiness /*now*/) { ++told; };
  EXPECT_TRUE(events.take(tell));
  EXPECT_FALSE(events.take(tell));
  EXPECT_EQ(told, pairs.size());
}

/// From now on this process's calls of epoll_pwait2() fail with `error`.
void refuse_waits_by_ns(int error) {
  std::array<sock_filter, 4> rules{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_epoll_pwait2},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog program{.len = rules.size(), .filter = rules.data()};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(EventsOfMany, AWaitLastsWhereTheSystemKnowsMillisecondsOnly) {
  for (const int error : {ENOSYS, EPERM}) {
    const pid_t child = ::fork();
    if (child == 0) {
      refuse_waits_by_ns(error);
      SocketEvents<Pair> events;
      const auto begin = std::chrono::steady_clock::now();
      for (int time = 0; time < 2; ++time) {
        events.wait(1'200'000);
      }
      const bool waited = std::chrono::steady_clock::now() - begin >= std::chrono::microseconds{2'400};
      events.wake();
      events.wait(3'600'000'000'000);
      ::_exit(waited && !testing::Test::HasFailure() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << std::strerror(error);
  }
}

TEST(EventsOfMany, ABellRingsForADescriptorThatHasNoOwner) {
  SocketEvents<Pair> events;
  SocketEvents<Pair> inner;
  Bell bell;
  ASSERT_TRUE(events.add(inner.descriptor(), bell, 0));
  Pair pair;
  pair.unix_sockets();
  ASSERT_TRUE(inner.add(pair.own, pair));
  const auto tell = [](Pair& told, Readiness /*now*/) { ++told.told; };
  EXPECT_FALSE(events.take(tell));
  EXPECT_FALSE(bell.rings);
  for (int time = 0; time < 2; ++time) {
    pair.send("x");
    events.wait(runtime::Poller::kForever);
    EXPECT_FALSE(bell.rings) << "it rings when events are taken";
    EXPECT_FALSE(events.take(tell));
    EXPECT_TRUE(std::exchange(bell.rings, false));
    EXPECT_EQ(std::exchange(pair.told, 0), 0);
    EXPECT_FALSE(events.take(tell));
    EXPECT_TRUE(std::exchange(bell.rings, false)) << "as long as nobody takes the inner set's events";
    EXPECT_FALSE(inner.take(tell));
    EXPECT_EQ(std::exchange(pair.told, 0), 1);
    EXPECT_FALSE(events.take(tell));
    EXPECT_FALSE(bell.rings);
  }
}

TEST(EventsOfMany, ASocketThatTheSystemDoesNotTakeIsNotAdded) {
  SocketEvents<Pair> events;
  Pair closed;
  EXPECT_FALSE(events.add(closed.own, closed));
}

}  // namespace
}  // namespace mxkv::server::test
