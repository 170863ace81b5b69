// The requests of one connection take effect in the order sent, whatever happens to the leaf that a write has
// found while it waits for its turn.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/store_yard.hpp"

namespace mxkv::simulation {
namespace {

/// A task at a time, so that others can come in between any two.
runtime::RuntimeOptions in_small_steps() {
  runtime::RuntimeOptions options = runtime::testing::unpinned(2);
  options.batch_tasks = 1;
  return options;
}
server::StoreOptions with_small_leaves() {
  server::StoreOptions options = one_bucket();
  options.tree.limits = {.leaf = 4, .inner = 4};
  return options;
}

StoreRequest of_line(const std::string& text, const CommandLine& line,
                     reply_shape shape = reply_shape::line) {
  StoreRequest request{.text = text, .shape = shape};
  request.op.locked = line.what != act::get;
  request.op.lines.push_back(line);
  return request;
}
StoreRequest unrecorded(const std::string& text) {
  StoreRequest request{.text = text, .recorded = false, .silent = true};
  request.op.lines.push_back({});
  return request;
}

/// The first key of the history, and a hundred others behind it.
void fill(Yard& yard) {
  yard.ask(0, "ms key0: 1\r\n0\r\n", reply_shape::line);
  yard.run();
  for (std::size_t n = 100; n < 200; ++n) {
    yard.ask(0, "ms key0:" + std::to_string(n) + " 1\r\nx\r\n", reply_shape::line);
    yard.run();
  }
}

/// Writes of one key, each of which depends on the one before.
std::vector<StoreRequest> dependent_writes(std::uint8_t key) {
  const std::string name = "key" + std::to_string(key) + ":";
  return {of_line("delete " + name + "\r\n", {.what = act::remove, .key = key}),
          of_line("ms " + name + " 2 c\r\n50\r\n", {.what = act::set, .key = key, .operand = 50}),
          of_line("ma " + name + " v c D7\r\n", {.what = act::count_up, .key = key, .operand = 7}),
          of_line("delete " + name + "\r\n", {.what = act::remove, .key = key}),
          of_line("ms " + name + " 2 c ME\r\n60\r\n", {.what = act::add, .key = key, .operand = 60}),
          of_line("append " + name + " 0 0 1\r\n3\r\n", {.what = act::append, .key = key, .operand = 3}),
          of_line("gets " + name + "\r\n", {.what = act::get, .key = key}, reply_shape::classic_value)};
}

TEST(StoreOrder, AWriteFindsWhatTheOneBeforeItMadeThoughTheirLeafIsUnlinked) {
  for (std::size_t first = 100; first < 180; first += 5) {
    Yard yard{with_small_leaves()};
    fill(yard);
    const std::string key = "key0:" + std::to_string(first + 10) + "x";
    std::vector<StoreRequest> all;
    for (std::size_t n = first; n < first + 20; ++n) {
      all.push_back(unrecorded("delete key0:" + std::to_string(n) + " noreply\r\n"));
    }
    for (StoreRequest& request : dependent_writes(1)) {
      request.text.replace(request.text.find("key1:"), 5, key);
      all.push_back(std::move(request));
    }
    // To the history it is the second key, which nothing else names.
    yard.history = StoreHistory{KeyStates{}, false};
    yard.clients[0].plan(std::move(all));
    while (yard.clients[0].has_plans() || yard.clients[0].in_flight() > 0) {
      static_cast<void>(yard.clients[0].send_planned(100));
      yard.run();
    }
    EXPECT_EQ(yard.reader.nonsense(), "");
    EXPECT_EQ(yard.history.contradiction().value_or(""), "") << "from " << first;
  }
}

TEST(StoreOrder, AWriteFindsWhatTheOneBeforeItMadeThoughTheTreeIsCleared) {
  bool during = true;
  for (std::size_t steps = 0; during; ++steps) {
    Yard yard{with_small_leaves(), in_small_steps()};
    fill(yard);
    yard.clients[0].plan(dependent_writes(0));
    static_cast<void>(yard.clients[0].send_planned(100));
    for (std::size_t n = 0; n < steps; ++n) {
      yard.machine[0].step();
    }
    during = yard.clients[0].in_flight() > 0;
    Operation flush;
    flush.what = operation::erase;
    flush.last = 2;
    flush.others = true;
    flush.items = kMostHistoryKeys;
    yard.send(1, "flush_all\r\n", reply_shape::line, std::move(flush));
    for (int n = 0; n < 50; ++n) {
      yard.machine[1].step();
    }
    while (yard.clients[0].has_plans() || yard.clients[0].in_flight() > 0) {
      static_cast<void>(yard.clients[0].send_planned(100));
      yard.run();
    }
    EXPECT_EQ(yard.reader.nonsense(), "");
    EXPECT_EQ(yard.history.contradiction().value_or(""), "") << "after " << steps << " steps";
    during = during && steps < 500;
  }
}

}  // namespace
}  // namespace mxkv::simulation
