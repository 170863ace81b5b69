#include "server/store/range/dump_part_task.hpp"

#include "server/store/range/dump_line.hpp"
#include "server/store/range/dump_pages_task.hpp"

namespace mxkv::server {

/// One leaf.
class DumpPartTask::Leaf {
 public:
  Leaf(DumpPartTask& task, runtime::Worker& worker) noexcept
      : task_(task),
        page_(*task.page_),
        live_(worker),
        out_(page_.text + page_.bytes),
        wanted_(!task.part_->parts().given_up()) {}
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
    if ((task_.state_->skip_start && key == task_.part_->part().from) || !live_(item) ||
        !is_dumped(task_.form_, item)) {
      return true;
    }
    if (out_ + kMostDumpLineBytes > page_.text + page_.room) [[unlikely]] {
      page_.full = true;
      return false;
    }
    out_ = write_dump_line(out_, task_.form_, item, task_.wall_ahead_s_);
    last_ = &item.item();
    return true;
  }

 private:
  DumpPartTask& task_;
  DumpPage& page_;
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

runtime::step DumpPartTask::finished(bool /*exhausted*/, runtime::Worker& worker) {
  whole_->page_ended(*page_, worker);
  return end_part(*this, worker);
}

}  // namespace mxkv::server
