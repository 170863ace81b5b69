// The harness itself: it runs the bodies as told, all of them, and finds the classic mistake.
#include "tests/schedule/interleaving.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace mxkv::testing {
namespace {

/// A body of `steps` steps that writes its letter at each.
std::function<void()> writing(std::string& log, char letter, int steps) {
  return [&log, letter, steps] {
    for (int i = 0; i < steps; ++i) {
      log += letter;
      if (i + 1 < steps) {
        Interleaving::point();
      }
    }
  };
}

TEST(Interleaving, EnumeratesEachOrderOnce) {
  std::map<std::string, int> seen;
  const std::size_t runs = in_all_orders(100, [&seen](Interleaving& interleaving) {
    std::string log;
    interleaving.run({writing(log, 'a', 3), writing(log, 'b', 3)});
    ++seen[log];
  });
  EXPECT_EQ(runs, 20U) << "6! / (3! 3!)";
  EXPECT_EQ(seen.size(), 20U);
}

TEST(Interleaving, CountsPreemptions) {
  std::set<std::string> seen;
  const std::size_t runs = in_all_orders(0, [&seen](Interleaving& interleaving) {
    std::string log;
    interleaving.run({writing(log, 'a', 2), writing(log, 'b', 2), writing(log, 'c', 2)});
    seen.insert(log);
  });
  EXPECT_EQ(runs, 6U) << "who is first, who is second";
  EXPECT_EQ(seen, (std::set<std::string>{"aabbcc", "aaccbb", "bbaacc", "bbccaa", "ccaabb", "ccbbaa"}));
}

TEST(Interleaving, RepeatsARandomOrderForItsSeed) {
  const auto one = [](std::uint64_t seed) {
    std::string log;
    Interleaving interleaving{random_order(seed)};
    interleaving.run({writing(log, 'a', 20), writing(log, 'b', 20)});
    return log;
  };
  EXPECT_EQ(one(1), one(1));
  EXPECT_NE(one(1), one(2));
}

TEST(Interleaving, FindsALostUpdateThatNeedsOnePreemption) {
  int lost = 0;
  in_all_orders(1, [&lost](Interleaving& interleaving) {
    int shared = 0;
    const auto increment = [&shared] {
      const int seen = shared;
      Interleaving::point();
      shared = seen + 1;
    };
    interleaving.run({increment, increment});
    lost += shared != 2 ? 1 : 0;
  });
  EXPECT_GT(lost, 0);
}

}  // namespace
}  // namespace mxkv::testing
