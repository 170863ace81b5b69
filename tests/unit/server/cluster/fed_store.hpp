// A store whose changes a test can take as a log's groups, and to which it can apply groups of a log.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "server/cluster/record_body.hpp"
#include "server/cluster/shard_feed.hpp"
#include "server/cluster/shard_memory.hpp"
#include "server/commit/record_reader.hpp"
#include "server/durability/store_journal.hpp"
#include "tests/unit/server/durability/text_store.hpp"

namespace mxkv::server::testing {

class FedStore {
 public:
  explicit FedStore(std::size_t workers, std::uint64_t seed = 1,
                    std::size_t memory_bytes = std::size_t{256} << 20U, const Routes* routes = nullptr,
                    bool leaves_adapt = false)
      : store(workers, memory_bytes, leaves_adapt),
        memory(
            store.machine.runtime, store.store, [this] { ++woken; }, routes),
        random_(seed) {
    share_.epochs = &epochs_;
    std::vector<RecordBuffer*> buffers;
    for (std::size_t i = 0; i < workers; ++i) {
      buffers_.push_back(std::make_unique<RecordBuffer>(share_));
      buffers.push_back(buffers_.back().get());
      buffers.back()->set_context(&store.machine[i]);
    }
    journal_ = std::make_unique<StoreJournal>(std::move(buffers), record_times::wall);
    feed_ = std::make_unique<ShardFeed>(*journal_);
    store.store.tree().commits().listen(feed_.get());
  }
  FedStore(const FedStore&) = delete;
  FedStore& operator=(const FedStore&) = delete;
  ~FedStore() {
    store.leave();
    (void)take_group();
    store.store.tree().commits().listen(nullptr);
  }

  /// The records since the last call, as if three workers had made them: the records of each worker in order, one worker
  /// after the other.
  std::string take_group() {
    std::array<std::string, 3> bodies;
    for (const auto& buffer : buffers_) {
      buffer->park();
      RecordBlock* const blocks = buffer->collect();
      RecordBlock* last = nullptr;
      for (RecordBlock* block = blocks; block != nullptr; block = block->next) {
        add(bodies, *block);
        last = block;
      }
      if (last != nullptr) {
        buffer->give_back(blocks, last);
      }
      buffer->park();  // drops the values that it held
    }
    return bodies[0] + bodies[1] + bodies[2];
  }

  /// Runs until all applied records are in the tree.
  void settle() {
    store.run_until_idle();
    EXPECT_EQ(memory.failures(), 0U);
    EXPECT_EQ(memory.finished(0), memory.begun(0));
    EXPECT_EQ(memory.waiting_bytes(), 0U);
  }
  /// From the counters of `stats`.
  [[nodiscard]] std::uint64_t item_count() {
    return store.store.total(counter::items_added) - store.store.total(counter::items_removed);
  }
  [[nodiscard]] std::uint64_t item_bytes() {
    return store.store.total(counter::bytes_added) - store.store.total(counter::bytes_removed);
  }

  std::atomic<int> woken = 0;
  TextStore store;
  ShardMemory memory;

 private:
  void add(std::array<std::string, 3>& bodies, RecordBlock& block) {
    RecordReader reader{{block.payload(), block.payload_bytes}};
    while (reader.next()) {
      const std::string_view record{block.payload() + reader.begin(), reader.position() - reader.begin()};
      std::vector<std::string_view> apart;
      if (reader.at_end() && block.apart.owner != nullptr) {
        block.apart.of->pieces(block.apart.owner, apart);
      }
      RecordBody::add(bodies[random_.below(3)], record, apart);
    }
    EXPECT_TRUE(reader.at_end());
  }

  runtime::Random random_;
  CommitEpochs epochs_{16, 1, 0};
  BufferShare share_;
  std::vector<std::unique_ptr<RecordBuffer>> buffers_;
  std::unique_ptr<StoreJournal> journal_;
  std::unique_ptr<ShardFeed> feed_;
};

/// The part of items that a log transfers: reads are not recorded, and a win may be won again.
inline ItemsSeen recorded_of(ItemsSeen items) {
  for (auto& [key, item] : items) {
    item.access = 0;
    item.marks &= ~std::uint32_t{Item::kWon};
  }
  return items;
}

}  // namespace mxkv::server::testing
