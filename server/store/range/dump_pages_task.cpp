#include "server/store/range/dump_pages_task.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/paths.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/range/dump_line.hpp"
#include "server/store/range/dump_task.hpp"

namespace mxkv::server {

using runtime::step;

namespace {

constexpr std::size_t kPagesAWorker = 4;

}  // namespace

/// Tells home that a page has ended.
class DumpPageTask final : public runtime::DependentTask {
 public:
  static constexpr const char* kName = "dump page";

  DumpPageTask(const runtime::TaskClass* task_class, DumpPagesTask& whole, DumpPage& page) noexcept
      : DependentTask(task_class), whole_(&whole), page_(&page) {}

  step execute(runtime::Worker& worker) {
    whole_->send(*page_, worker);
    return step::done;
  }

 private:
  DumpPagesTask* whole_;
  DumpPage* page_;
};

DumpPagesTask::DumpPagesTask(const runtime::TaskClass* task_class, ItemTree& tree, DumpProgress& progress,
                             const ReplyAddress& address, const RangeSplitting& how, std::size_t pages,
                             runtime::Worker& worker)
    : MxTask(task_class),
      RangeWalk(*make_state(worker, nullptr), address),
      tree_(&tree),
      progress_(&progress),
      how_(how),
      charged_(pages * progress.page_bytes()),
      pages_(new std::vector<DumpPage>(pages)) {
  MXKV_ASSERT(progress.page_bytes() >= kMostDumpLineBytes, "a page has room for a line");
  worker.runtime().budget().charge_unconditionally(runtime::memory_category::output, charged_);
  progress.texts().resize(pages);
}

void DumpPagesTask::begin(ItemTree& tree, DumpProgress& progress, const ReplyAddress& address,
                          const RangeSplitting& how, runtime::Worker& worker) {
  MXKV_ASSERT(progress.running() && how.parts_a_worker > 0,
              "pages are made side by side where ranges are divided");
  const std::size_t workers = worker.runtime().worker_count();
  const std::size_t pages = std::min(progress.pages(), kPagesAWorker * workers);
  const std::uint32_t leaves = progress.leaves_a_page();
  auto* const task = worker.create<DumpPagesTask>(tree, progress, address, how, pages, worker);
  task->parts_ = RangeParts::of_strip(
      pages * leaves, *task, tree, *task->state_, progress.from(), progress.skips_from(), address,
      {.leaves_a_part = leaves,
       .parts_a_worker = static_cast<std::uint32_t>((pages + workers - 1) / workers)});
  task->parts_->begin(worker);
}

void DumpPagesTask::start_part(RangePartTask& part, runtime::Worker& worker) {
  const std::size_t number = parts_->number_of(part.part());
  DumpPage& page = (*pages_)[number];
  std::unique_ptr<char[]>& text = progress_->texts()[number];
  if (text == nullptr) {
    text = std::make_unique_for_overwrite<char[]>(progress_->page_bytes());
  }
  page.text = text.get();
  page.room = progress_->page_bytes();
  DumpPartTask::begin(*tree_, part, progress_->form(), page, *this, worker);
}

void DumpPagesTask::undivided(runtime::Worker& worker) {
  delete std::exchange(parts_, nullptr);
  worker.spawn(this);
}

step DumpPagesTask::execute(runtime::Worker& worker) {
  MXKV_ASSERT(worker.id().value() == address_.worker, "replies are written at home");
  if (parts_ == nullptr) {
    DumpTask::begin(*tree_, *std::exchange(progress_, nullptr), address_, how_, worker);
  } else {
    answer(worker);
  }
  give_back(worker);
  return step::done;
}

void DumpPagesTask::page_ended(DumpPage& page, runtime::Worker& worker) {
  if (parts_->is_home(worker)) {
    send(page, worker);
  } else {
    parts_->send_home(*worker.create<DumpPageTask>(*this, page), worker);
  }
}

void DumpPagesTask::send(DumpPage& page, runtime::Worker& worker) {
  page.ended = true;
  const auto& context = worker.local<WorkerContext>();
  seen_.add(page.seen);
  ReplyQueue* const queue = context.replies->find(address_, seen_.at_home(context));
  while (queue != nullptr && !stopped_ && sent_ < parts_->ended().size() && (*pages_)[sent_].ended) {
    const DumpPage& next = (*pages_)[sent_];
    queue->append(address_.ticket, {next.text, next.bytes});
    if (next.full) {
      stopped_ = true;
      parts_->give_up();
    } else {
      ++sent_;
    }
  }
}

void DumpPagesTask::answer(runtime::Worker& worker) {
  const auto& context = worker.local<WorkerContext>();
  ConnectionTable& replies = *context.replies;
  ReplyQueue* const queue = replies.find(address_, seen_.at_home(context));
  DumpProgress& progress = *std::exchange(progress_, nullptr);
  std::uint64_t bytes = 0;
  std::uint64_t leaves = 0;
  for (const DumpPage& page : *pages_) {
    bytes += page.bytes;
    leaves += page.leaves;
  }
  progress.learn(bytes, leaves, DumpTask::kMostLeavesOfParts * how_.leaves_a_part);
  MXKV_ASSERT(queue == nullptr || stopped_ || sent_ == parts_->ended().size(),
              "all pages are sent, or up to a full one");
  const bool ended = !stopped_ && parts_->strip_end().empty();
  if (stopped_) {
    MXKV_PATH(dump_page_full);
    progress.note((*pages_)[sent_].last.view());
  } else if (!ended) {
    progress.go_on_at(parts_->strip_end());
  }
  if (queue != nullptr) {
    MXKV_PATH(dump_pages_sent);
    if (ended) {
      queue->append(address_.ticket, end_of_dump(progress.form()));
    }
    queue->close(address_.ticket);
  }
  progress.end_page(ended || queue == nullptr);
  replies.finished(address_);
}

void DumpPagesTask::give_back(runtime::Worker& worker) {
  worker.runtime().budget().refund(runtime::memory_category::output, charged_);
  delete std::exchange(pages_, nullptr);
  delete std::exchange(parts_, nullptr);
  release(worker);
}

void DumpPagesTask::discard(runtime::Worker& worker) {
  if (progress_ != nullptr) {
    std::exchange(progress_, nullptr)->end_page(true);
  }
  give_back(worker);
}

// --- One page ---

/// One leaf.
class DumpPartTask::Leaf {
 public:
  Leaf(DumpPartTask& task, runtime::Worker& worker) noexcept
      : task_(task),
        page_(*task.page_),
        context_(worker.local<WorkerContext>()),
        live_(worker),
        out_(page_.text + page_.bytes),
        wanted_(!task.part_->parts().given_up()) {
    page_.seen.add(nullptr, task.here(), context_);
  }
  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;
  ~Leaf() {
    page_.bytes = static_cast<std::size_t>(out_ - page_.text);
    if (last_ != nullptr) {
      page_.last.set(last_->key());
    }
  }

  /// Takes an entry, in order. False: enough.
  bool visit(std::uint64_t /*head*/, std::uint64_t value) {
    const Item::View item{*ItemRecord::item(value)};
    const std::string_view key = item.key();
    if (!wanted_ || task_.state_->beyond(key)) {
      return false;
    }
    const bool more = write(item, key);
    page_.seen.add(&item.item(), task_.here(), context_);
    return more;
  }

 private:
  /// Writes the line of an item that has one. False: the page is full.
  [[nodiscard]] bool write(const Item::View& item, std::string_view key) {
    if ((task_.state_->skip_start && key == task_.part_->part().from) || !live_(item) ||
        !is_dumped(task_.form_, item)) {
      return true;
    }
    if (out_ + kMostDumpLineBytes > page_.text + page_.room) [[unlikely]] {
      page_.full = true;
      return false;
    }
    out_ = write_dump_line(out_, task_.form_, item, live_.now_us(), task_.wall_ahead_s_);
    last_ = &item.item();
    return true;
  }

  DumpPartTask& task_;
  DumpPage& page_;
  const WorkerContext& context_;
  Liveness live_;
  char* out_;
  bool wanted_;                 ///< a client waits for the lines
  const Item* last_ = nullptr;  ///< the last item with a line
};

DumpPartTask::DumpPartTask(const runtime::TaskClass* task_class, ItemTree& tree, RangePartTask& part,
                           dump_form form, DumpPage& page, DumpPagesTask& whole, runtime::Worker& worker)
    : Base(task_class, tree),
      PartWalk(part, worker),
      page_(&page),
      whole_(&whole),
      wall_ahead_s_(worker.runtime().clock().wall_ahead_s()),
      form_(form) {}

void DumpPartTask::begin(ItemTree& tree, RangePartTask& part, dump_form form, DumpPage& page,
                         DumpPagesTask& whole, runtime::Worker& worker) {
  worker.create<DumpPartTask>(tree, part, form, page, whole, worker)->start(worker);
}

DumpPartTask::Leaf DumpPartTask::leaf_visitor(runtime::Worker& worker) {
  worker.charge(kTurnsOfLeaf);
  ++page_->leaves;
  if (at_home_) {
    part_->parts().look_for_client(worker);
  }
  return Leaf{*this, worker};
}

step DumpPartTask::finished(bool /*exhausted*/, runtime::Worker& worker) {
  whole_->page_ended(*page_, worker);
  return end_part(*this, worker);
}

}  // namespace mxkv::server
