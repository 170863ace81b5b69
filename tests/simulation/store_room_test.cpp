// A command that makes an item out of the present one waits for memory, as a set does, while room is being
// made; whichever way it goes through the tree, and whether its leaf is hot.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/simulation/store_yard.hpp"
#include "tests/simulation/world_options.hpp"

namespace mxkv::simulation {
namespace {

using server::Item;

struct Command {
  std::string before;  ///< makes the item that `ask` finds, under the key `k`
  std::string ask;
  std::string reply;
};

std::string stored(const std::string& verb, std::size_t bytes, const std::string& tail = "") {
  return verb + " k " + (verb == "ms" ? "" : "0 0 ") + std::to_string(bytes) + tail + "\r\n" +
         std::string(bytes, 'v') + "\r\n";
}

std::vector<Command> commands() {
  const std::string item = stored("set", 1000);
  const std::string large = stored("set", 10000);
  const std::string number = "set k 0 0 1\r\n9\r\n";
  return {{item, stored("append", 20), "STORED\r\n"},
          {large, stored("prepend", 20), "STORED\r\n"},
          {item, stored("ms", 20, " MA"), "HD\r\n"},
          {large, stored("ms", 20, " MP s"), "HD s10020\r\n"},
          {item, stored("ms", 20, " C1 I s"), "HD s20\r\n"},
          {number, "incr k 1\r\n", "10\r\n"},
          {number, "decr k 1\r\n", "8\r\n"},
          {number, "ma k v\r\n", "VA 2\r\n10\r\n"},
          {number, "touch k 100\r\n", "TOUCHED\r\n"},
          {number, "gat 100 k\r\n", "VALUE k 0 1\r\n9\r\nEND\r\n"},
          {large, "mg k T100 s\r\n", "HD s10000\r\n"},
          {item, "md k I T30\r\n", "HD\r\n"},
          {item, "md k x\r\n", "HD\r\n"},
          {"delete k\r\n", "mg k N0 s\r\n", "HD s0 W\r\n"},
          {"delete k\r\n", "ma k N0 J7 v\r\n", "VA 1\r\n7\r\n"},
          {item, "mb 2\r\nms k 20 MA\r\n" + std::string(20, 'v') + "\r\nmd k q\r\n", "HD\r\nHD\r\n"}};
}

/// Takes all memory that items of any size could still get from the workers' heaps.
class Hoard {
 public:
  explicit Hoard(Yard& yard) : yard_(yard) {
    yard.machine.runtime.budget().set_limit_bytes(0);
    for (std::size_t worker = 0; worker < taken_.size(); ++worker) {
      for (std::size_t bytes = 0; bytes <= 4096; ++bytes) {
        while (Item* const item = make(worker, bytes)) {
          taken_[worker].push_back(item);
        }
      }
    }
  }
  ~Hoard() {
    yard_.machine.runtime.budget().set_limit_bytes(kMemoryBytes);
    for (std::size_t worker = 0; worker < taken_.size(); ++worker) {
      for (Item* const item : taken_[worker]) {
        Item::destroy(yard_.machine[worker], item);
      }
    }
  }
  Hoard(const Hoard&) = delete;
  Hoard& operator=(const Hoard&) = delete;

 private:
  Item* make(std::size_t worker, std::size_t bytes) {
    return Item::create(yard_.machine[worker], {.key = "k", .value_bytes = bytes});
  }

  Yard& yard_;
  std::array<std::vector<Item*>, 2> taken_;
};

struct Way {
  const char* name;
  bool hot;
  bool fast;
};

class StoreRoom : public ::testing::TestWithParam<Way> {};

TEST_P(StoreRoom, WhatMakesAnItemOfAnotherWaitsWhileRoomIsMade) {
  runtime::RuntimeOptions how = runtime::testing::unpinned(2);
  how.fast_path = GetParam().fast;
  server::StoreOptions options = one_bucket();
  options.evict = true;
  options.tree.leaves_adapt = GetParam().hot;
  options.tree.limits = {.leaf = 4, .inner = 4};
  Yard yard{options, how};
  for (std::size_t n = 100; n < 200; ++n) {
    asked(yard, "set j" + std::to_string(n) + " 0 0 1\r\nx\r\n");
  }
  if (GetParam().hot) {
    index::testing::heat_all_leaves(yard.store.tree(), yard.machine[0]);
  }
  for (const Command& command : commands()) {
    ASSERT_NE(asked(yard, command.before), "");
    yard.ask(0, command.ask, reply_shape::line);  // with the item that its value comes in
    {
      const Hoard hoard{yard};
      for (int n = 0; n < 100; ++n) {
        yard.machine[0].step();
        yard.machine[1].step();
      }
      EXPECT_EQ(said(yard), "") << command.ask << "was answered without memory";
    }
    yard.machine.run_until_idle();
    EXPECT_EQ(said(yard), command.reply) << command.ask;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, StoreRoom,
                         ::testing::Values(Way{"fast", false, true}, Way{"guarded", false, false},
                                           Way{"hot", true, true}),
                         [](const auto& way) { return std::string{way.param.name}; });

}  // namespace
}  // namespace mxkv::simulation
