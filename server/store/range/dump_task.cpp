#include "server/store/range/dump_task.hpp"

#include <utility>

#include "server/reply/connection_table.hpp"
#include "server/store/range/dump_line.hpp"
#include "server/store/range/range_walk.hpp"

namespace mxkv::server {

/// One leaf.
class DumpTask::Leaf {
 public:
  Leaf(DumpTask& task, runtime::Worker& worker) noexcept
      : task_(task),
        context_(worker.local<WorkerContext>()),
        progress_(*task.progress_),
        live_(worker),
        queue_(find_queue(task, context_)),
        wanted_(queue_ != nullptr && task.leaves_ <= task.most_leaves_) {}
  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;
  ~Leaf() {
    context_.replies->show(task_.address_, task_.seen_.at_home(context_));
    if (last_ != nullptr) {
      progress_.note(last_->key());
    }
  }

  /// Takes an entry, in order. False: enough.
  bool visit(std::uint64_t /*head*/, std::uint64_t value) {
    const Item::View item{*ItemRecord::item(value)};
    if (!wanted_ || task_.bytes_ >= progress_.page_bytes() || progress_.full()) {
      return false;
    }
    if (!(progress_.skips_from() && item.key() == progress_.from()) && live_(item) &&
        is_dumped(progress_.form(), item)) {
      write(item);
    }
    task_.seen_.add(&item.item(), task_.here(), context_);
    return true;
  }

 private:
  [[nodiscard]] static ReplyQueue* find_queue(DumpTask& task, const WorkerContext& context) noexcept {
    task.seen_.add(nullptr, task.here(), context);
    return context.replies->find(task.address_, task.seen_.at_home(context));
  }
  void write(const Item::View& item) {
    char* const begin = queue_->reserve(task_.address_.ticket, kMostDumpLineBytes);
    char* const end = write_dump_line(begin, progress_.form(), item, live_.now_us(), task_.wall_ahead_s_);
    MXKV_DCHECK(static_cast<std::size_t>(end - begin) <= kMostDumpLineBytes,
                "a line fits what it has reserved");
    queue_->commit(task_.address_.ticket, end);
    task_.bytes_ += static_cast<std::uint32_t>(end - begin);
    progress_.count_line();
    last_ = &item.item();
  }

  DumpTask& task_;
  const WorkerContext& context_;
  DumpProgress& progress_;
  Liveness live_;
  ReplyQueue* queue_;  ///< null: the client is gone
  bool wanted_;
  const Item* last_ = nullptr;  ///< the last item with a line
};

void DumpTask::begin(ItemTree& tree, DumpProgress& progress, const ReplyAddress& address,
                     const RangeSplitting& how, runtime::Worker& worker) {
  MXKV_ASSERT(progress.running(), "a page begins before the store is asked for it");
  worker.create<DumpTask>(tree, progress, worker.runtime().clock().wall_ahead_s(), address, how)
      ->start(worker);
}

DumpTask::Leaf DumpTask::leaf_visitor(runtime::Worker& worker) noexcept {
  worker.charge(kTurnsOfLeaf);
  ++leaves_;
  return Leaf{*this, worker};
}

runtime::step DumpTask::finished(bool exhausted, runtime::Worker& worker) {
  MXKV_ASSERT(progress_ != nullptr && progress_->running(), "a page ends once");
  const auto& context = worker.local<WorkerContext>();
  ConnectionTable& replies = *context.replies;
  ReplyQueue* const queue = replies.find(address_, seen_.at_home(context));
  const bool ended = exhausted || progress_->full();
  if (queue != nullptr) {
    if (ended) {
      queue->append(address_.ticket, end_of_dump(progress_->form()));
    }
    queue->close(address_.ticket);
  }
  if (how_.parts_a_worker > 0) {
    progress_->learn(bytes_, leaves_, kMostLeavesOfParts * how_.leaves_a_part);
  }
  worker.unpin(*this);
  std::exchange(progress_, nullptr)->end_page(ended || queue == nullptr);
  replies.finished(address_);
  return runtime::step::done;
}

void DumpTask::discard(runtime::Worker& /*worker*/) {
  if (progress_ != nullptr) {
    std::exchange(progress_, nullptr)->end_page(true);
  }
}

}  // namespace mxkv::server
