// flush_all and the orders that it mints. Orders show the ages of items, so they may not run ahead of the
// clock.
#include "server/store/range/flush_task.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {
namespace {

TEST(FlushTask, ManyOfThemMoveNoAges) {
  TextStore store{2};
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(store.ask("flush_all\r\n"), "OK\r\n");
    store.machine.clock.advance_us(1'000);
  }
  ASSERT_EQ(store.ask("set k 0 0 1\r\nv\r\n"), "STORED\r\n");
  EXPECT_LT(store.store.greatest_order(0), store.machine.clock.steady_us() + 1'000'000);
  store.machine.clock.advance_us(30'200'000);
  EXPECT_EQ(store.ask("mg k l\r\n"), "HD l30\r\n") << "since it was stored";
  store.machine.clock.advance_us(10'000'000);
  EXPECT_EQ(store.ask("mg k l\r\n"), "HD l10\r\n") << "since it was read";
}

TEST(FlushTask, CasValuesBehindItAreAboveAllThatWereTold) {
  TextStore store{2};
  std::uint64_t before = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string told = store.ask("ms k 1 c\r\nv\r\n");
    const std::uint64_t cas = std::stoull(told.substr(told.find('c') + 1));
    EXPECT_GT(cas, before);
    before = cas;
    ASSERT_EQ(store.ask("flush_all\r\n"), "OK\r\n");
  }
}

}  // namespace
}  // namespace mxkv::server::testing
