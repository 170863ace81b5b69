// What a node makes of the board: by a clock that the test advances, without any broker.
#include "server/cluster/cluster_node.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

/// Takes in what is appended, and says nothing of it.
class SilentLog final : public OrderedLog {
 public:
  void append(std::string /*bytes*/, AppendDone /*done*/) override {}
  void read(LogPosition /*from*/, LogSink& /*sink*/) override {}
  void stop() override {}
  void end(EndDone /*done*/) override {}
  void trim(LogPosition /*before*/) override {}
};

class SilentEngine final : public LogEngine {
 public:
  [[nodiscard]] std::unique_ptr<OrderedLog> open(const std::string& /*topic*/,
                                                 std::int32_t /*partition*/) override {
    return std::make_unique<SilentLog>();
  }
  void poll(int /*wait_ms*/) override { std::this_thread::sleep_for(std::chrono::milliseconds{1}); }
  void hold_reads(bool /*holds*/) override {}
  void wake() noexcept override {}
  [[nodiscard]] std::string last_error() const override { return {}; }
};

/// Shows what was put up, unless it is silent. Thread-safety: any thread.
class ShownBoard final : public Board {
 public:
  explicit ShownBoard(BoardSink& sink) : sink_(sink) { sink_.caught_up(); }
  void put(const std::string& key, std::string value, Done done) override {
    const std::scoped_lock lock{mutex_};
    if (!silent) {
      put_up_.emplace_back(key, std::move(value));
    }
    static_cast<void>(done);
  }
  void remove(const std::string& /*key*/, Done /*done*/) override {}
  void poll(int /*wait_ms*/) override {
    const std::scoped_lock lock{mutex_};
    for (const auto& [key, value] : std::exchange(put_up_, {})) {
      sink_.put_up(0, key, value);
    }
    ++polls;
  }
  void wake() noexcept override {}
  [[nodiscard]] std::string last_error() const override { return {}; }

  std::atomic<bool> silent{false};
  std::atomic<std::uint64_t> polls{0};

 private:
  BoardSink& sink_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> put_up_;
};

class ClusterNodeTest : public ::testing::Test {
 protected:
  ClusterNodeTest() {
    node.start([](std::size_t) {});
  }
  ~ClusterNodeTest() override { node.finish(); }

  static ClusterMap two_nodes() {
    return first_map(99, 1, 3000,
                     {{.name = "a", .peer = "10.0.0.1:11311", .address = ""},
                      {.name = "b", .peer = "10.0.0.2:11311", .address = ""}},
                     {"m"})
        .value();
  }
  void pass_ms(std::uint64_t ms) {
    for (; ms > 0; ms -= 50) {
      const std::uint64_t before = board.polls.load();
      store.machine.clock.advance_us(50'000);
      while (board.polls.load() == before) {
        std::this_thread::sleep_for(std::chrono::microseconds{100});
      }
    }
  }
  void other_says_that_it_serves() {
    board.put(
        presence_key("b"),
        write_presence({.name = "b",
                        .process = 7,
                        .address = "",
                        .peer = "10.0.0.2:11311",
                        .version = "1",
                        .map_version = 1,
                        .shards = {{.id = 1, .role = "owns", .term = 1, .position = 1, .serves = true}}}),
        {});
  }

  TextStore store;
  SilentEngine engine;
  BoardReader reader;
  ShownBoard board{reader};
  Routes routes{{"m"}};
  ClusterNode node{{.cluster = "c", .name = "a", .address = "", .peer = "10.0.0.1:11311", .version = "1"},
                   two_nodes(),
                   engine,
                   board,
                   reader,
                   store.machine.runtime,
                   store.store,
                   routes,
                   {.info = [](const std::string&) {}, .warn = [](const std::string&) {}}};
};

TEST_F(ClusterNodeTest, WhileTheBoardIsSilentNobodyIsKnownToBeGone) {
  other_says_that_it_serves();
  pass_ms(200);
  ASSERT_EQ(routes.route(1).where, Route::to::peer);
  EXPECT_EQ(routes.peer_address(routes.route(1).peer), "10.0.0.2:11311");
  board.silent = true;
  pass_ms(20'000);
  EXPECT_EQ(routes.route(1).where, Route::to::peer) << "this node does not even hear itself";
  board.silent = false;
  other_says_that_it_serves();
  pass_ms(3000);
  EXPECT_EQ(routes.route(1).where, Route::to::peer);
  pass_ms(6000);
  EXPECT_EQ(routes.route(1).where, Route::to::nobody) << "others are heard, and it is not";
}

}  // namespace
}  // namespace mxkv::server::testing
