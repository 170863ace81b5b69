#include "tests/simulation/store_whims.hpp"

#include <utility>

#include "server/store/locks/repartition_task.hpp"
#include "server/store/upkeep/leaf_evictions.hpp"
#include "tests/unit/index/turned_leaf.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::simulation {

using runtime::Worker;

StoreRequest StoreWhims::next_request(std::uint64_t now_us) {
  StoreRequest request = requests_.draw(now_us / 1'000'000);
  if (fault_ == store_fault::torn_page && request.op.what == operation::page) {
    request.text = request.text.substr(0, request.text.find(" X")) + "\r\n";
    request.op.locked = true;
  } else if (fault_ == store_fault::torn_count && request.op.what == operation::count) {
    request.text.replace(request.text.find(" X"), 2, " e");
  }
  return request;
}

void StoreWhims::have_whim(Worker& worker) {
  if (whims_left_ == 0) {
    return;
  }
  --whims_left_;
  switch (options_.redraws && maps_ == 0 ? 0 : random_.below(32)) {
    case 0:
    case 7:
    case 8:
    case 9:
      if (options_.redraws && !drawing_.exchange(true)) {
        ++maps_;
        // Often more than there are, as when many have gone since: then a page's part ends before the page.
        const std::uint64_t items = (1 + random_.below(8)) * (store_->total(server::counter::items_added) -
                                                              store_->total(server::counter::items_removed));
        worker.create<server::RepartitionTask>(store_->tree(), store_->locks(), drawing_, items, random_())
            ->start(worker);
      }
      break;
    case 1:
      if (const std::uint64_t seen = some_item(); options_.moves && seen != 0) {
        server::start_move(worker, seen);
      }
      break;
    case 2:
      if (server::ItemNode* const leaf = some_leaf();
          (options_.evicts || fault_ == store_fault::lost_item) && leaf != nullptr) {
        store_->ghosts().fit(1 + random_.below(10'000));  // one to five pages
        evict_some(*leaf, worker);
      }
      break;
    case 3:
    case 4:
    case 5:
      // As a session does: a write that the disk refuses does not begin, so that no client gets a cas that
      // comes again.
      if (options_.preempts && open_writes_ < kMostPreempted &&
          (disk_ == nullptr || disk_->refusal() == nullptr)) {
        start_preempted_write(worker);
      }
      break;
    case 6:
      if (fault_ == store_fault::kept_slot && !kept_) {
        keep_slot(worker);
      }
      break;
    case 10:
    case 11:
    case 12:
      index::testing::turn_some_leaf(store_->tree(), random_, worker);
      break;
    default:
      break;
  }
}

// Without a latch: there are no other threads.
server::ItemNode* StoreWhims::some_leaf() {
  auto* node = static_cast<server::ItemNode*>(store_->tree().root().object());
  while (node->meta().level() > 0 || node->meta().total() == 0) {
    const index::NodeMeta meta = node->meta();
    std::uint64_t next = node->right();
    if (meta.level() > 0) {
      const auto block = static_cast<std::uint8_t>(random_.below(meta.blocks()));
      if (meta.count(block) == 0) {
        return nullptr;
      }
      next = node->value(false,
                         index::Position{block, static_cast<std::uint8_t>(random_.below(meta.count(block)))});
    }
    if (next == 0) {
      return nullptr;
    }
    node = static_cast<server::ItemNode*>(runtime::TaggedPointer{next}.object());
  }
  return node;
}

std::uint64_t StoreWhims::some_item() {
  const server::ItemNode* const leaf = some_leaf();
  if (leaf == nullptr) {
    return 0;
  }
  const index::NodeMeta meta = leaf->meta();
  const auto block = static_cast<std::uint8_t>(random_.below(meta.blocks()));
  if (meta.count(block) == 0) {
    return 0;
  }
  return leaf->value(true,
                     index::Position{block, static_cast<std::uint8_t>(random_.below(meta.count(block)))});
}

/// Evicts about half of a leaf's items.
void StoreWhims::evict_some(server::ItemNode& leaf, Worker& worker) {
  index::Entries entries;
  leaf.copy_entries(leaf.meta(), false, entries);
  server::LeafEvictions removals;
  for (unsigned i = 0; i < entries.count; ++i) {
    if (random_.below(2) == 0) {
      removals.add(entries.values[i]);
    }
  }
  if (!removals.empty()) {
    removals.start(leaf, nullptr, worker);
  }
}

void StoreWhims::start_preempted_write(Worker& worker) {
  const auto key = static_cast<std::uint8_t>(random_.below(options_.requests.keys));
  Operation op;
  op.lines.push_back({.what = act::set, .key = key, .operand = 7'000'000 + writes_.size()});
  record_->invoked(op);
  const std::uint64_t number = op.lines.front().operand;
  writes_.push_back(std::move(op));
  ++open_writes_;
  worker
      .create<PreemptedWrite>(store_->tree(), static_cast<WriteWitness&>(*this), writes_.size() - 1,
                              keys_.names[key], number, fault_ != store_fault::unasked_write)
      ->start(worker);
}
void StoreWhims::writing() {
  ++preempted_;
  stepper_->meanwhile();
}
void StoreWhims::ended(std::size_t write, std::uint64_t cas) {
  --open_writes_;
  Operation& op = writes_[write];
  op.end = cas == 0 ? ending::refused : ending::done;
  op.lines.front().reply = told::done;
  op.lines.front().cas = cas;
  if (disk_ != nullptr && cas != 0) {
    held_.push_back({disk_->must_wait_for(), op});
    look_at_disk(false);
    return;
  }
  record_->responded(op);
}

void StoreWhims::look_at_disk(bool all) {
  std::erase_if(held_, [this, all](HeldWrite& held) {
    const bool durable = held.epoch <= disk_->durable();
    if (durable) {
      record_->responded(std::move(held.op));
    } else if (all) {
      record_->cut_off(std::move(held.op));
    }
    return durable || all;
  });
}

// It is never opened again.
void StoreWhims::keep_slot(Worker& worker) {
  auto* const task =
      runtime::testing::lambda_task(worker, [](runtime::MxTask&, Worker&) { return runtime::step::done; });
  kept_ = store_->locks().gate.close(0, *task);
  if (kept_) {
    worker.spawn(task);
  }
}

}  // namespace mxkv::simulation
