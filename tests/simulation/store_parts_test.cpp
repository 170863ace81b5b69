// Large ranges in parts: which workers run them, that no client can tell, and their end when clients leave or
// the world ends.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/base/paths.hpp"
#include "server/store/range/dump_progress.hpp"
#include "tests/simulation/store_yard.hpp"
#include "tests/simulation/world_options.hpp"
#include "tests/unit/index/turned_leaf.hpp"

namespace mxkv::simulation {
namespace {

constexpr std::size_t kItems = 300;

server::StoreOptions many_leaves(std::uint32_t parts_a_worker, bool hot = false) {
  server::StoreOptions options = one_bucket();
  options.tree.leaves_adapt = hot;
  options.tree.limits = {.leaf = 4, .inner = 4};
  options.ranges.locked_items = kItems;
  options.ranges.splitting = {.leaves_alone = 2, .leaves_a_part = 1, .parts_a_worker = parts_a_worker};
  return options;
}

/// Workers that take turns after a few tasks each.
runtime::RuntimeOptions in_turns() {
  runtime::RuntimeOptions options = runtime::testing::unpinned(2);
  options.batch_tasks = 4;
  return options;
}

std::string key_of(std::size_t n) {
  return "k" + std::to_string(1000 + n);
}

void fill_leaves(Yard& yard) {
  for (std::size_t n = 0; n < kItems; ++n) {
    ASSERT_EQ(asked(yard, "set " + key_of(n) + " 0 0 " + (n < 100 ? "1\r\n7" : "2\r\n13") + "\r\n"),
              "STORED\r\n");
  }
  if (yard.store.tree().options().leaves_adapt) {
    index::testing::heat_all_leaves(yard.store.tree(), yard.machine[0]);
  }
}

/// Deferred tasks that a worker took.
std::uint64_t taken(Yard& yard, std::size_t worker) {
  return yard.machine[worker].counters().refills[2].load(std::memory_order_relaxed);
}

class StoreParts : public ::testing::TestWithParam<bool> {};

TEST_P(StoreParts, AnswersAreThoseOfOneTaskAndBothWorkersCarryThem) {
  Yard divided{many_leaves(4, GetParam()), in_turns()};
  Yard alone{many_leaves(0, GetParam())};
  fill_leaves(divided);
  fill_leaves(alone);
  for (const char* const line :
       {"mc - e Msnx", "mc - Ms", "mc k p X Msnx", "mc k1050 Hk1150 e", "mc k1050 o Hk1150 i X", "mc k12 p e",
        "mc - r e", "mc l e", "mt k11 p T100", "mt k10 p T0", "mt - T70", "mt k1200 o T90", "mc - e",
        "mx k1020 o Hk1120 X", "mc - e Msnx", "mx k1 p X", "mc - X"}) {
    const std::string text = std::string{line} + "\r\n";
    const std::string before = asked(alone, text);
    EXPECT_EQ(asked(divided, text), before) << line;
  }
  EXPECT_GT(taken(divided, 0), 10U);
  EXPECT_GT(taken(divided, 1), 10U);
  EXPECT_EQ(taken(alone, 0) + taken(alone, 1), 0U);
  EXPECT_EQ(divided.machine.runtime.joins().alive(), 0U);
}

TEST_P(StoreParts, TheCeilingOfWhatIsHeldIsExact) {
  Yard yard{many_leaves(4, GetParam()), in_turns()};
  fill_leaves(yard);
  const std::string refused = "CLIENT_ERROR too many keys in the range\r\n";
  const std::string all = "HD A" + std::to_string(kItems);
  EXPECT_EQ(asked(yard, "mc - X\r\n"), all + " B2000\r\n");
  EXPECT_EQ(asked(yard, "mt - T100 A299\r\n"), refused);
  EXPECT_EQ(asked(yard, "mx - X A1\r\n"), refused);
  EXPECT_EQ(asked(yard, "mx - X A150\r\n"), refused);
  EXPECT_EQ(asked(yard, "mt k1001 T100 A299\r\n"), "HD A299\r\n");
  EXPECT_EQ(asked(yard, "set z 0 0 1\r\n1\r\n"), "STORED\r\n");
  for (const char* const line : {"mc - X\r\n", "mt - T100\r\n", "mx - X\r\n"}) {
    EXPECT_EQ(asked(yard, line), refused) << line;
  }
  EXPECT_EQ(asked(yard, "mg k1000 t\r\n"), "HD t-1\r\n") << "what was refused changed something";
  EXPECT_EQ(asked(yard, "mx k p X\r\n"), all + "\r\n");
}

TEST_P(StoreParts, AClientThatLeavesAtAnyStepLeavesNothingBehind) {
  for (const char* const line : {"mc - e\r\n", "mc - X\r\n", "mt - T100\r\n", "mx - X\r\n"}) {
    Yard yard{many_leaves(4, GetParam()), in_turns()};
    fill_leaves(yard);
    for (int steps = 0; steps < 60; steps += 1 + steps / 8) {
      yard.ask(0, line, reply_shape::line);
      for (int n = 0; n < steps; ++n) {
        yard.machine[static_cast<std::size_t>(n % 2)].step();
      }
      yard.clients[0].reconnect();
      yard.run();
      EXPECT_EQ(yard.machine.runtime.joins().alive(), 0U) << line << steps;
    }
    yard.ask(1, "mx - X\r\n", reply_shape::line);  // which the locks let through
    yard.run();
    EXPECT_EQ(yard.clients[1].in_flight(), 0U) << line;
  }
}

TEST_P(StoreParts, AllMayEndAtAnyStep) {
  for (const char* const line : {"mc - e\r\n", "mc - X\r\n", "mt - T100\r\n", "mx - X\r\n"}) {
    for (int steps = 0; steps < 40; steps += 1 + steps / 8) {
      Yard yard{many_leaves(4, GetParam()), in_turns()};
      fill_leaves(yard);
      yard.ask(0, line, reply_shape::line);
      for (int n = 0; n < steps; ++n) {
        yard.machine[static_cast<std::size_t>(n % 2)].step();
      }
      yard.store.discard_waiting(yard.machine.runtime);
      yard.machine.runtime.drain_stopped();
      EXPECT_EQ(yard.machine.runtime.joins().alive(), 0U) << line << steps;
    }
  }
}

/// A dump by the first client, page by page, as a session runs it.
class Dump {
 public:
  explicit Dump(Yard& yard, std::uint32_t page_bytes = server::DumpProgress::kPageBytes)
      : yard_(yard),
        progress_(new server::DumpProgress{server::dump_form::mgdump, ~std::uint64_t{0}, page_bytes}) {}
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;
  ~Dump() { progress_->leave(); }

  /// Asks for the next page; false: there is none.
  bool begin_page(std::size_t pages) {
    if (progress_->ended()) {
      return false;
    }
    server::ConnectionState& entry = *yard_.clients[0].entries().front();
    server::ConnectionTable& directory = yard_.replies[0].directory;
    server::OrderClaim claim{server::operation_kind::range, 0};
    EXPECT_TRUE(entry.order.try_start(claim));
    directory.began_range();
    server::ReplyAddress address = directory.address(entry);
    address.ticket = entry.replies.open();
    address.claim = claim.stored();
    progress_->begin_page(pages * progress_->page_bytes());
    yard_.store.dump(yard_.machine[0], *progress_, address);
    return true;
  }
  std::string all(std::size_t pages) {
    std::string text;
    while (begin_page(pages)) {
      yard_.machine.run_until_idle();
      text += said(yard_);
    }
    return text;
  }

 private:
  Yard& yard_;
  server::DumpProgress* progress_;
};

std::string dump_of(std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t n = from; n < to; ++n) {
    text += "mg " + key_of(n) + "\r\n";
  }
  return text;
}

TEST_P(StoreParts, ADumpIsInOrderHoweverManyPagesAreMadeAtOnce) {
  Yard yard{many_leaves(4, GetParam()), in_turns()};
  fill_leaves(yard);
  const std::string wanted = dump_of(0, kItems) + "EN\r\n";
  for (const std::size_t pages : {1U, 2U, 5U, 16U}) {
    EXPECT_EQ(Dump{yard}.all(pages), wanted) << pages;
  }
  EXPECT_GT(taken(yard, 0), 4U);
  EXPECT_GT(taken(yard, 1), 4U);
  ASSERT_EQ(asked(yard, "mx k1020 o Hk1280 X\r\n"), "HD A259\r\n");
  EXPECT_EQ(Dump{yard}.all(16), dump_of(0, 21) + dump_of(280, kItems) + "EN\r\n");
  EXPECT_EQ(yard.machine.runtime.joins().alive(), 0U);
}

TEST_P(StoreParts, ADumpWhosePagesHaveNoRoomForTheirPartsLosesNothing) {
  server::StoreOptions options = many_leaves(4, GetParam());
  options.tree.limits = {};
  Yard yard{options, in_turns()};
  std::string wanted;
  for (std::size_t n = 0; n < 2 * kItems; ++n) {  // long keys, behind short ones
    const std::string key = key_of(n) + std::string(n < kItems ? 0 : 200, 'x');
    ASSERT_EQ(asked(yard, "set " + key + " 0 0 1\r\n7\r\n"), "STORED\r\n");
  }
  for (std::size_t n = 0; n < 2 * kItems; ++n) {
    wanted += "mg " + key_of(n) + std::string(n < kItems ? 0 : 200, 'x') + "\r\n";
  }
  using runtime::path;
  const runtime::paths::Counts before = runtime::paths::all();
  EXPECT_EQ(Dump(yard, 1100).all(16), wanted + "EN\r\n");
  const runtime::paths::Counts now = runtime::paths::all();
  for (const path which : {path::dump_pages_sent, path::dump_page_full}) {
    const auto i = static_cast<std::size_t>(which);
    EXPECT_EQ(now[i] > before[i], runtime::paths::kCounted) << runtime::paths::kNames[i];
  }
}

TEST_P(StoreParts, ADumpsClientMayLeaveAndAllMayEndAtAnyStep) {
  for (const bool ends : {false, true}) {
    for (int steps = 0; steps < 40; steps += 1 + steps / 8) {
      Yard yard{many_leaves(4, GetParam()), in_turns()};
      fill_leaves(yard);
      Dump dump{yard};
      ASSERT_TRUE(dump.begin_page(8));
      yard.machine.run_until_idle();
      ASSERT_TRUE(dump.begin_page(8));
      for (int n = 0; n < steps; ++n) {
        yard.machine[static_cast<std::size_t>(n % 2)].step();
      }
      if (ends) {
        yard.store.discard_waiting(yard.machine.runtime);
        yard.machine.runtime.drain_stopped();
      } else {
        yard.clients[0].reconnect();
        yard.run();
      }
      EXPECT_EQ(yard.machine.runtime.joins().alive(), 0U) << steps;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Leaves, StoreParts, ::testing::Bool(),
                         [](const auto& hot) { return hot.param ? "Hot" : "Latched"; });

}  // namespace
}  // namespace mxkv::simulation
