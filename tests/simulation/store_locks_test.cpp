// Orders of events that a map of slots drawn anew makes possible, step by step.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/simulation/store_yard.hpp"

namespace mxkv::simulation {
namespace {

using runtime::MxTask;
using runtime::Worker;

/// Holds slots until the test has it give them back. Lives until the test ends.
class Holder final : public MxTask {
 public:
  static constexpr const char* kName = "holder";
  Holder(const runtime::TaskClass* task_class, runtime::SlotInterval slots) noexcept
      : MxTask(task_class), slots_(slots) {}

  [[nodiscard]] runtime::SlotInterval held_slots(const server::KeyPartition& /*slots*/) const {
    return slots_;
  }
  [[nodiscard]] static bool only_reads() noexcept { return false; }
  void begin(server::RangeLock& lock, Worker& /*worker*/) { lock_ = &lock; }
  runtime::step execute(Worker& /*worker*/) { return runtime::step::done; }

  [[nodiscard]] bool holds() const noexcept { return lock_ != nullptr; }
  void give_back(Worker& worker) { std::exchange(lock_, nullptr)->release(worker); }

 private:
  runtime::SlotInterval slots_;
  server::RangeLock* lock_ = nullptr;
};

Holder& hold(Yard& yard, runtime::SlotInterval slots) {
  auto* const holder = yard.machine[0].create<Holder>(slots);
  server::RangeLock::create(yard.machine[0], yard.store.locks(), *holder, yard.machine[0].id())
      ->start(yard.machine[0]);
  return *holder;
}

TEST(StoreLocks, AWriteThatWaitedWhileTheMapWasDrawnMindsWhoHoldsItsKeyNow) {
  Yard yard;
  yard.draw({"m"}, 2);
  Holder& redraw = hold(yard, {0, 2});
  yard.run();
  ASSERT_TRUE(redraw.holds());
  yard.set(1, "b");  // of the first slot
  yard.run();
  ASSERT_EQ(yard.store.locks().gate.parked(), 1U);

  yard.draw({"a"}, 2);  // now it is of the second
  Holder& next = hold(yard, {1, 1});
  redraw.give_back(yard.machine[0]);
  while (!next.holds()) {  // the write's worker does not get its turn
    yard.machine[0].step();
  }
  yard.run();
  EXPECT_EQ(yard.clients[1].in_flight(), 1U) << "written though an operation held the key";
  next.give_back(yard.machine[0]);
  yard.run();
  EXPECT_EQ(yard.clients[1].in_flight(), 0U);
}

// Of four buckets the batch has the first, and waits for the last: other operations may have those between.
TEST(StoreLocks, ABatchOnBothEndsDoesNotHoldOffWhatLiesBetween) {
  for (const bool hosts : {false, true}) {
    server::StoreOptions options;
    options.toggle = {.buckets = 4, .slots_per_bucket = 1, .hosts = hosts};
    Yard yard{options};
    yard.draw({"g", "n", "t"}, 4);
    Holder& last = hold(yard, {3, 3});
    yard.run();
    ASSERT_TRUE(last.holds());
    Operation batch;
    batch.what = operation::batch;
    batch.lines.resize(2);
    yard.send(1, "mb 2\r\nms a 1\r\n7\r\nms z 1\r\n8\r\n", reply_shape::batch, batch);
    yard.run();
    EXPECT_EQ(yard.clients[1].in_flight(), 1U);
    EXPECT_EQ(asked(yard, "mt m p T100\r\n"), "HD A0\r\n");
    EXPECT_EQ(asked(yard, "mt h Hs T100\r\n"), "HD A0\r\n") << "of both buckets between";
    EXPECT_EQ(asked(yard, "mt a Hs T100\r\n"), "") << "behind the batch, in the first bucket";
    last.give_back(yard.machine[0]);
    yard.machine.run_until_idle();
    EXPECT_EQ(said(yard), "HD A1\r\n");
    yard.run();
    EXPECT_EQ(yard.clients[1].in_flight(), 0U);
  }
}

// The purpose of [To 3]'s hosts: the second worker hosts the slots that the first one's client asks for.
TEST(StoreLocks, TheHolderRunsOnTheHostAndItsReplyGoesHome) {
  for (const bool hosts : {false, true}) {
    server::StoreOptions options;
    options.toggle = {.buckets = 2, .slots_per_bucket = 1, .hosts = hosts, .inner = false};
    Yard yard{options};
    for (std::size_t n = 100; n < 160; ++n) {
      yard.set(0, "z" + std::to_string(n));
      yard.run();
    }
    yard.draw({"n"}, 60);
    const std::uint64_t before = yard.machine[1].counters().tasks.load();
    EXPECT_EQ(asked(yard, "mt z p T100\r\n"), "HD A60\r\n");
    EXPECT_EQ(asked(yard, "mc z p e X\r\n"), "HD A60 B300\r\n");
    EXPECT_EQ(asked(yard, "mr z p A3 k X\r\n").substr(0, 25), "HD kz100\r\nHD kz101\r\nHD kz");
    EXPECT_EQ(asked(yard, "mb 1\r\nmd z100\r\n"), "HD\r\nHD\r\n");
    EXPECT_EQ(asked(yard, "mx z p X\r\n"), "HD A59\r\n");
    EXPECT_EQ(yard.store.total(server::counter::held_away), hosts ? 5U : 0U);
    EXPECT_EQ(yard.machine[1].counters().tasks.load() > before + 20, hosts);
  }
}

TEST(StoreLocks, APageWhosePartIsEmptyIsStillOneMoment) {
  Yard yard;
  yard.set(0, "x");
  yard.run();
  yard.draw({"h", "p"}, 300);  // a page of one item holds two slots
  Operation page;
  page.what = operation::page;
  yard.send(0, "mr - A1 v c X\r\n", reply_shape::meta_page, page);
  Operation batch;
  batch.what = operation::batch;
  batch.lines.resize(2);
  yard.send(1, "mb 2\r\nms key1: 1\r\n7\r\nms w 1\r\n8\r\n", reply_shape::batch, batch);
  yard.run();
  ASSERT_EQ(yard.history.size(), 3U);
  for (const Operation& op : yard.history.operations()) {
    if (op.what == operation::page) {  // the first of them all, if the batch was before it
      EXPECT_EQ(op.seen.size(), 1U) << "shows what a batch put behind the part, and not what it put there";
    }
  }
}

TEST(StoreLocks, APageFromSomeKeyOnWhosePartIsEmptyShowsNothingFromBeforeIt) {
  server::StoreOptions options = one_bucket();
  options.tree.limits.leaf = 4;
  options.toggle.slots_per_bucket = 4;
  for (const bool backward : {false, true}) {
    Yard yard{options};
    for (std::size_t n = 100; n < 160; ++n) {
      yard.set(0, "key0:" + std::to_string(n));
      yard.run();
    }
    yard.set(0, "key1:");
    yard.run();
    yard.draw({"key0:105", "key0:130", "key0:150"},
              300);  // a page of one item holds two slots, and they get empty
    yard.ask(1, "mx key0:106 Hkey0:150\r\n", reply_shape::line);
    yard.run();
    StoreRequest page{.shape = reply_shape::meta_page, .backward = backward};
    page.text = backward ? "mr key0:140 r A1 v c X\r\n" : "mr key0:110 A1 v c X\r\n";
    page.paging.near = backward ? "key0:140" : "key0:110";
    page.op.what = operation::page;
    yard.clients[1].send(page);
    yard.run();
    EXPECT_EQ(yard.history.operations().back().items, 1U);
    EXPECT_EQ(yard.reader.nonsense(), "");
  }
}

}  // namespace
}  // namespace mxkv::simulation
