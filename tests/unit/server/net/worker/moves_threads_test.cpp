// Connections move to and fro between two running workers while clients send requests and other threads list them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/server/net/worker/two_workers.hpp"

namespace mxkv::server::test {
namespace {

/// A connection arrives at a worker.
class ComeTask final : public runtime::MxTask {
 public:
  ComeTask(const runtime::TaskClass* task_class, NetWorker& net, int socket) noexcept
      : MxTask(task_class), net_(net), socket_(socket) {}
  runtime::step execute(runtime::Worker& /*worker*/) {
    net_.adopt(socket_);
    return runtime::step::done;
  }
  void discard(runtime::Worker& /*worker*/) { ::close(socket_); }

 private:
  NetWorker& net_;
  int socket_;
};

/// All connections of a worker move to another one.
class GiveTask final : public runtime::MxTask {
 public:
  GiveTask(const runtime::TaskClass* task_class, NetWorker& from, NetWorker& to) noexcept
      : MxTask(task_class), from_(from), to_(to) {}
  runtime::step execute(runtime::Worker& /*worker*/) {
    from_.give_all(to_);
    return runtime::step::done;
  }

 private:
  NetWorker& from_;
  NetWorker& to_;
};

constexpr int kClients = 8;
constexpr int kPipelines = 60;
constexpr int kDepth = 50;

bool receives(int socket, const std::string& expected) {
  std::string got;
  std::array<char, 4096> buffer{};
  while (got.size() < expected.size()) {
    const ssize_t bytes =
        ::recv(socket, buffer.data(), std::min(buffer.size(), expected.size() - got.size()), 0);
    if (bytes <= 0) {
      return false;
    }
    got.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  return got == expected;
}

/// Writes its own numbers and reads them back, in pipelines that end in the middle of a line. Returns whether all were right.
bool converses(int socket, int client) {
  const std::string key = "client-" + std::to_string(client);
  std::string rest;
  for (int pipeline = 0; pipeline < kPipelines; ++pipeline) {
    std::string requests = rest;
    std::string expected;
    for (int i = 0; i < kDepth; ++i) {
      const std::string value = std::to_string(pipeline * kDepth + i);
      const std::string size = std::to_string(value.size());
      requests.append("set ").append(key).append(" 0 0 ").append(size).append("\r\n").append(value).append(
          "\r\n");
      requests.append("get ").append(key).append("\r\n");
      expected.append("STORED\r\nVALUE ").append(key).append(" 0 ").append(size).append("\r\n");
      expected.append(value).append("\r\nEND\r\n");
    }
    rest = "get not-th";
    requests += rest;
    if (::send(socket, requests.data(), requests.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(requests.size()) ||
        !receives(socket, expected)) {
      return false;
    }
    rest = "ere\r\n";
    if (::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(rest.size()) ||
        !receives(socket, "END\r\n")) {
      return false;
    }
    rest.clear();
  }
  return true;
}

TEST(MovesBetweenThreads, RepliesAreRightAndNoConnectionIsLost) {
  TwoWorkers server{{}, {.window_ms = 1}};
  runtime::Runtime& runtime = server.machine.runtime;
  ASSERT_TRUE(runtime.start().ok());
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  std::atomic<int> ended{0};
  for (int client = 0; client < kClients; ++client) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    NetWorker& home = server.nets[0];
    home.load().fetch_add(1);
    server.shared.connections.open.fetch_add(1);
    runtime.submit(runtime.create_outside<ComeTask>(home, ends[1]), home.host().worker.id());
    clients.emplace_back([&right, &ended, socket = ends[0], client] {
      right += converses(socket, client) ? 1 : 0;
      ++ended;
      ::close(socket);
    });
  }
  for (std::size_t turn = 0; ended < kClients; ++turn) {
    NetWorker& from = server.nets[turn % 2];
    NetWorker& to = server.nets[1 - turn % 2];
    if (turn % 8 < 2) {
      runtime.submit(runtime.create_outside<GiveTask>(from, to), from.host().worker.id());
    }
    EXPECT_LE(server.listed(), std::size_t{kClients});
    server.machine.clock.advance_us(200);
    std::this_thread::sleep_for(std::chrono::microseconds{200});
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(right, kClients);
  EXPECT_GT(server.nets[0].counters().taken_in.load() + server.nets[1].counters().taken_in.load(), 0U);
  while (server.shared.connections.open.load() != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  EXPECT_EQ(server.connections(0) + server.connections(1), 0U);
  runtime.stop();
}

}  // namespace
}  // namespace mxkv::server::test
