// Running workers, while a log is applied, clients write, and a copy is made for a replica.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "server/cluster/range_snapshot.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "tests/sanitized.hpp"
#include "tests/unit/server/cluster/fed_store.hpp"
#include "tests/unit/server/cluster/some_change.hpp"

namespace mxkv::server::testing {
namespace {

/// A set as a client sends it, whose reply goes nowhere.
class ClientSet final : public index::UpdateTask<ClientSet, ItemTraits> {
  using Base = index::UpdateTask<ClientSet, ItemTraits>;

 public:
  static constexpr const char* kName = "client's set";

  ClientSet(const runtime::TaskClass* task_class, ItemTree& tree, Item* item,
            std::atomic<std::uint64_t>& done) noexcept
      : Base(task_class, tree), item_(item), done_(done) {}

  [[nodiscard]] std::string_view key() const noexcept { return item_->key(); }
  index::Decision decide(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& /*worker*/) {
    return {index::Decision::what::put, ItemRecord::word(item_)};
  }
  index::Change commit(ItemNode& leaf, bool found, std::uint64_t old, std::uint64_t /*value*/,
                       runtime::Worker& worker) noexcept {
    const std::uint64_t order =
        next_order(order_before(found ? ItemRecord::item(old) : nullptr, leaf), worker);
    item_->set_order(order);
    return index::Change::put(order);
  }
  runtime::step committed(bool found, std::uint64_t old, runtime::Worker& worker) {
    if (found) {
      retire_item(worker, ItemRecord::item(old));
    }
    return left(found, old, worker);
  }
  runtime::step left(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& /*worker*/) {
    done_.fetch_add(1, std::memory_order_relaxed);
    return runtime::step::done;
  }
  runtime::step out_of_memory(runtime::Worker& worker) { return left(false, 0, worker); }

 private:
  Item* item_;
  std::atomic<std::uint64_t>& done_;
};

/// Starts a task on a worker.
class BeginClientSet final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "client";

  BeginClientSet(const runtime::TaskClass* task_class, Store& store, std::uint64_t number,
                 std::atomic<std::uint64_t>& done) noexcept
      : MxTask(task_class), store_(store), number_(number), done_(done) {}
  runtime::step execute(runtime::Worker& worker) {
    const std::string key = "z" + std::to_string(number_ % 40);
    Item* const item = Item::create_whole(worker, key, std::to_string(number_));
    worker.create<ClientSet>(store_.tree(), item, done_)->start(worker);
    return runtime::step::done;
  }

 private:
  Store& store_;
  std::uint64_t number_;
  std::atomic<std::uint64_t>& done_;
};

/// Counts commits, separately for keys of clients and other keys.
class Heard final : public index::CommitListener<std::string_view> {
 public:
  void passed(const index::Commit<std::string_view>& commit, runtime::Worker& /*worker*/) noexcept override {
    if (commit.change.what != index::change::unseen) {
      (commit.key.starts_with('z') ? clients : others).fetch_add(1, std::memory_order_relaxed);
    }
  }
  std::atomic<std::uint64_t> clients{0};
  std::atomic<std::uint64_t> others{0};
};

template <class Until>
bool wait_for(const Until& until) {
  for (int i = 0; i < 60'000 && !until(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return until();
}

TEST(ShardMemoryThreads, ALogIsAppliedBesideClients) {
  runtime::Random random{3};
  FedStore owner{1};
  std::vector<std::string> groups;
  for (int i = 0; i < (kSanitized ? 600 : 3000); ++i) {
    owner.store.ask(some_change(random));
    if (random.below(10) == 0) {
      groups.push_back(owner.take_group());
    }
  }
  groups.push_back(owner.take_group());

  FedStore node{3};
  FedStore replica{2};
  Heard heard;
  ShardFeed feed{heard};
  Store& store = node.store.store;
  store.tree().commits().listen(&feed);
  runtime::Runtime& runtime = node.store.machine.runtime;
  ASSERT_TRUE(runtime.start().ok());
  constexpr std::uint64_t kSets = 3000;
  std::atomic<std::uint64_t> done{0};
  std::thread clients{[&] {
    for (std::uint64_t i = 0; i < kSets; ++i) {
      (void)runtime.submit(runtime.create_outside<BeginClientSet>(store, i, done),
                           runtime::WorkerId{static_cast<std::uint16_t>(i % 3)});
    }
  }};
  for (const std::string& group : groups) {
    node.memory.apply(0, group);
  }
  EXPECT_TRUE(wait_for([&] { return node.memory.finished(0) == node.memory.begun(0); }))
      << node.memory.failure(0);
  EXPECT_EQ(node.memory.waiting_bytes(), 0U);
  clients.join();
  EXPECT_TRUE(wait_for([&] { return done.load() == kSets; }));

  RangeSnapshot snapshot{store, "", ""};
  snapshot.start();
  std::string body;
  for (auto now = snapshot.poll(body); now != RangeSnapshot::state::end; now = snapshot.poll(body)) {
    ASSERT_NE(now, RangeSnapshot::state::failed);
    if (now == RangeSnapshot::state::chunk) {
      replica.memory.apply(0, body);
    } else {
      snapshot.wait(1'000'000);
    }
  }
  runtime.stop();
  replica.settle();
  const ItemsSeen items = node.store.items();
  EXPECT_EQ(recorded_of(replica.store.items()), recorded_of(items));
  ItemsSeen applied = items;
  EXPECT_EQ(std::erase_if(applied, [](const auto& item) { return item.first[0] == 'z'; }), 40U);
  EXPECT_EQ(recorded_of(applied), recorded_of(owner.store.items()));
  EXPECT_EQ(heard.clients.load(), kSets) << "all that clients did is told";
  EXPECT_EQ(heard.others.load(), 0U) << "nothing that was applied is";
  EXPECT_GT(node.woken, 0);
}

}  // namespace
}  // namespace mxkv::server::testing
