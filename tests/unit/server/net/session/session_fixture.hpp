// One session over a fake store, fed and read like a socket.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "server/net/session/session.hpp"
#include "tests/unit/index/tree_drain.hpp"
#include "tests/unit/scheduler/machine.hpp"
#include "tests/unit/server/net/session/fake_store.hpp"
#include "tests/unit/server/reply/fixture.hpp"

namespace mxkv::server::test {

class Client : public ConnectionOwner, private AdminSource {
 public:
  static constexpr std::size_t kHeadroom = 64;

  explicit Client(config::LimitOptions limits = {}) : limits_(limits) {
    session = std::make_unique<Session>(host, *this);
  }
  /// Runs the operations that a test left in the store, so that they give their memory back.
  ~Client() {
    session.reset();
    settle_store();
    EXPECT_EQ(item_bytes(), 0U) << "values leaked";
  }

  void resume() override { session->resume(); }
  [[nodiscard]] std::string client_name() const override { return "test:1"; }
  /// Bytes of complete and unfinished values that no operation has taken yet.
  [[nodiscard]] std::size_t item_bytes() { return index::testing::live_bytes(machine.runtime).items; }
  /// Limits the memory that later values find.
  void leave_memory(std::size_t bytes) {
    runtime::MemoryBudget& budget = machine.runtime.budget();
    budget.set_limit_bytes(budget.used_bytes() + bytes);
  }

  /// Sends bytes as far as the session wants them; the rest stays in the "kernel".
  void send(std::string_view bytes, std::size_t part = 1 << 20) {
    kernel_ += bytes;
    read(part);
  }

  /// Runs rounds until none does any work. Returns the replies.
  std::string settle(std::size_t part = 1 << 20) {
    for (bool busy = true; busy;) {
      busy = round(part);
    }
    return std::exchange(answered_, {});
  }

  /// One round: a turn, one operation, maybe sending. Returns whether it did any work.
  bool round(std::size_t part = 1 << 20) {
    ++host.turn;
    bool busy = false;
    if (session->pauses().has(pause::turn | pause::memory)) {
      session->resume();
      busy = true;
    }
    busy = read(part) || busy;
    busy = store.step(random) || busy;
    if (reads_replies && (session->unsent_bytes() > 0)) {
      answered_ += drain(session->output(), 1 << 20);
      if (session->paused_for(pause::output)) {
        session->resume();
        busy = true;
      }
    }
    return busy;
  }

  /// Runs all operations after the session has ended.
  void settle_store() {
    while (store.step(random)) {
    }
  }

  std::string ask(std::string_view bytes) {
    send(bytes);
    return settle();
  }

  static constexpr std::size_t kPages = 50;
  static constexpr std::size_t kPageBytes = 16384;
  std::size_t pages_made = 0;  ///< pages of administration commands
  bool reads_replies = true;
  bool reads_directly = true;  ///< into the memory of values
  std::mt19937 random{1};
  Memory memory;
  BlockPool input{memory.budget, memory.budget.account(runtime::WorkerId{0}),
                  runtime::memory_category::buffers};
  ConnectionTable directory{0, memory.pool};
  runtime::testing::Machine machine{runtime_options()};
  runtime::Worker& worker{machine[0]};
  FakeStore store{directory};
  config::LimitOptions limits_;
  SessionHost host{worker, store, directory, input, limits_, "VERSION 1.2.3\r\n", this};
  std::unique_ptr<Session> session;

 private:
  static runtime::RuntimeOptions runtime_options() {
    runtime::RuntimeOptions options = runtime::testing::unpinned(1);
    options.memory.limit_bytes = std::size_t{64} << 20U;
    return options;
  }

  /// `stats pages` has kPages of kPageBytes, `stats long` one.
  std::string run(const protocol::Request& request, AdminCursor& cursor) override {
    ++pages_made;
    if (request.argument == "pages" || request.argument == "long") {
      cursor.more = request.argument == "pages" && ++cursor.after < kPages;
      const std::string text =
          "STAT " + std::to_string(cursor.after) + " " + std::string(kPageBytes, 'p') + "\r\n";
      return cursor.more ? text : text + "END\r\n";
    }
    return request.op == protocol::verb::stats      ? "STAT " + std::string(request.argument) + "\r\nEND\r\n"
           : request.op == protocol::verb::shutdown ? std::string{}
                                                    : "OK\r\n";
  }

  bool read(std::size_t part) {
    bool any = false;
    while (!kernel_.empty() && session->wants_input()) {
      const std::span<char> direct = reads_directly ? session->value_space() : std::span<char>{};
      if (!direct.empty()) {
        const std::size_t bytes = std::min({direct.size(), kernel_.size(), part});
        std::copy_n(kernel_.begin(), bytes, direct.begin());
        kernel_.erase(0, bytes);
        session->received_value(bytes);
      } else {
        const std::size_t bytes = std::min(kernel_.size(), part);
        // Exactly as large as stated, so that a sanitizer sees an overrun.
        std::vector<char> buffer(kHeadroom + bytes);
        std::copy_n(kernel_.begin(), bytes, buffer.begin() + kHeadroom);
        kernel_.erase(0, bytes);
        session->receive(buffer.data() + kHeadroom, bytes, kHeadroom);
      }
      any = true;
    }
    return any;
  }

  std::string kernel_;
  std::string answered_;
};

}  // namespace mxkv::server::test
