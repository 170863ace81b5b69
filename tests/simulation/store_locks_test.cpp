// Orders of events that a map of slots drawn anew makes possible, step by step.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/store_client.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::simulation {
namespace {

using runtime::MxTask;
using runtime::Worker;

server::StoreOptions one_bucket() {
  server::StoreOptions options;
  options.toggle = {.buckets = 1, .slots_per_bucket = 3};
  return options;
}

/// Holds slots until it is told to give them back. Lives until the test ends.
class Holder final : public MxTask {
 public:
  static constexpr const char* kName = "holder";
  Holder(const runtime::TaskClass* task_class, runtime::SlotInterval slots) noexcept
      : MxTask(task_class), slots_(slots) {}

  [[nodiscard]] runtime::SlotInterval held_slots(const server::KeySlots& /*slots*/) const { return slots_; }
  [[nodiscard]] static bool only_reads() noexcept { return false; }
  void begin(server::KeyLock& lock, Worker& /*worker*/) { lock_ = &lock; }
  runtime::step execute(Worker& /*worker*/) { return runtime::step::done; }

  [[nodiscard]] bool holds() const noexcept { return lock_ != nullptr; }
  void give_back(Worker& worker) { std::exchange(lock_, nullptr)->release(worker); }

 private:
  runtime::SlotInterval slots_;
  server::KeyLock* lock_ = nullptr;
};

/// Two workers, of which the first hosts all slots, and a client of each.
struct Yard {
  Yard() {
    for (std::size_t i = 0; i < 2; ++i) {
      replies.emplace_back(machine[i], machine.runtime.budget());
      store.context(machine[i].id()).replies = &replies[i].directory;
      replies[i].directory.set_hooks({&machine[i],
                                      [](void* to, MxTask* task) { static_cast<Worker*>(to)->spawn(task); },
                                      [](void* /*client*/) {}});
    }
    machine.run_until_idle();
    for (std::size_t i = 0; i < 2; ++i) {
      clients.emplace_back(machine[i], store, replies[i].directory, reader, record);
    }
  }
  ~Yard() {
    receive();
    for (StoreClient& client : clients) {
      client.leave();
    }
    machine.runtime.drain_stopped();
  }

  void draw(std::vector<std::string> separators, std::uint64_t items) {
    store.locks().slots.replace(std::make_unique<server::KeySlots::Map>(std::move(separators)), items,
                                machine[0]);
    store.locks().toggle.map_changed();
  }
  Holder& hold(runtime::SlotInterval slots) {
    auto* const holder = machine[0].create<Holder>(slots);
    server::KeyLock::create(machine[0], store.locks(), *holder, machine[0].id())->start(machine[0]);
    return *holder;
  }
  void send(std::size_t client, const std::string& text, reply_shape shape, Operation op) {
    clients[client].send({.text = text, .shape = shape, .op = std::move(op)});
  }
  void set(std::size_t client, const std::string& key) {
    Operation op;
    op.lines.push_back({.what = act::set});
    send(client, "set " + key + " 0 0 1\r\n1\r\n", reply_shape::line, std::move(op));
  }
  void receive() {
    for (StoreClient& client : clients) {
      client.receive();
    }
    for (server::WorkerReplies& own : replies) {
      while (own.directory.next_dirty() != nullptr) {
      }
    }
  }
  void run() {
    machine.run_until_idle();
    receive();
  }

  runtime::testing::Machine machine{2};
  server::Store store{machine.runtime, one_bucket()};
  StoreKeys keys{2, 0, 0};
  StoreReplies reader{keys};
  StoreHistory history{keys.begin(), false};
  Complaints complaints;
  Bells bells;
  runtime::Random random{1};
  Stepper stepper{machine.runtime, machine.clock, random, bells, complaints, 0, false};
  StoreRecord record{history, stepper, machine.clock};
  std::deque<server::WorkerReplies> replies;
  std::deque<StoreClient> clients;
};

TEST(StoreLocks, AWriteThatWaitedWhileTheMapWasDrawnMindsWhoHoldsItsKeyNow) {
  Yard yard;
  yard.draw({"m"}, 2);
  Holder& redraw = yard.hold({0, 2});
  yard.run();
  ASSERT_TRUE(redraw.holds());
  yard.set(1, "b");  // of the first slot
  yard.run();
  ASSERT_EQ(yard.store.locks().gate.parked(), 1U);

  yard.draw({"a"}, 2);  // now it is of the second
  Holder& next = yard.hold({1, 1});
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

}  // namespace
}  // namespace mxkv::simulation
