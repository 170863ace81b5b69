// The tree's operations as tasks, each again and again until its worker's share of a job is done.
//
// The callback verifies the value that was read, as a server would use it there. In a mixed workload a task of
// one class reads or writes, as is drawn when the operation before it ends: the tree's write leaves the entry of
// a read alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/index/job.hpp"
#include "bench/index/kinds.hpp"
#include "index/lookup_task.hpp"
#include "index/scan_task.hpp"
#include "index/update_task.hpp"

namespace mxkv::bench {

/// One worker's share of a job, and its progress. Thread-safety: its worker. (Tasks stay on their worker,
/// because optimistic latches bind no task to another one.)
template <class Kind>
struct alignas(2 * runtime::kCacheLineBytes) Share {
  index::Tree<typename Kind::Traits>* tree = nullptr;
  Stream* stream = nullptr;
  runtime::ReclaimKind item_kind{};
  workload what = workload::read;
  std::uint64_t wanted = 0;
  std::uint64_t started = 0;
  std::uint64_t finished = 0;
  std::uint64_t wrong = 0;
  NewRecords new_records;

  [[nodiscard]] bool inserts() const noexcept { return what == workload::insert || what == workload::load; }
  /// Begins an operation as a new task.
  void begin(runtime::Worker& worker);
  /// Counts an operation that ended. Returns true if its task goes on with another one.
  [[nodiscard]] bool goes_on(bool right) noexcept {
    ++finished;
    wrong += right ? 0 : 1;
    if (started >= wanted) {
      return false;
    }
    ++started;
    return true;
  }
};

template <class Kind>
class FindTask final : public index::LookupTask<FindTask<Kind>, typename Kind::Traits> {
  using Base = index::LookupTask<FindTask<Kind>, typename Kind::Traits>;

 public:
  FindTask(const runtime::TaskClass* task_class, Share<Kind>& share) noexcept
      : Base(task_class, *share.tree), key_(share.stream->record()), share_(&share) {}
  [[nodiscard]] auto key() const noexcept { return key_.view(); }
  runtime::step on_found(std::uint64_t value, runtime::Worker& worker) {
    return ended(Kind::right(key(), value), worker);
  }
  runtime::step on_missing(runtime::Worker& worker) { return ended(false, worker); }

 private:
  runtime::step ended(bool right, runtime::Worker& worker) {
    if (!share_->goes_on(right)) {
      return runtime::step::done;
    }
    key_ = typename Kind::Key{share_->stream->record()};
    worker.repin(*this);
    return this->restart(false);
  }
  typename Kind::Key key_;
  Share<Kind>* share_;
};
static_assert(sizeof(FindTask<IntegerKind>) <= 64, "a look-up fits one cache line");

template <class Kind>
class PutTask final : public index::UpdateTask<PutTask<Kind>, typename Kind::Traits> {
  using Base = index::UpdateTask<PutTask<Kind>, typename Kind::Traits>;

 public:
  using typename Base::NodeT;
  PutTask(const runtime::TaskClass* task_class, Share<Kind>& share, runtime::Worker& worker) noexcept
      : Base(task_class, *share.tree), share_(&share) {
    choose(worker);
  }
  [[nodiscard]] auto key() const noexcept { return key_.view(); }
  index::Decision decide(bool /*found*/, std::uint64_t /*old*/, runtime::Worker& /*worker*/) {
    return makes_ ? index::Decision{index::Decision::what::put, value_} : index::Decision{};
  }
  index::Change commit(NodeT&, bool, std::uint64_t, std::uint64_t, runtime::Worker&) noexcept { return {}; }
  runtime::step committed(bool found, std::uint64_t old, runtime::Worker& worker) {
    if (found) {
      Kind::retire(worker, share_->item_kind, old);
    }
    return ended(found != share_->inserts(), worker);
  }
  runtime::step left(bool found, std::uint64_t value, runtime::Worker& worker) {
    return ended(reads_ && found && Kind::right(key(), value), worker);
  }
  runtime::step out_of_memory(runtime::Worker& worker) {
    Kind::drop(worker, value_);
    return ended(false, worker);
  }

 private:
  void choose(runtime::Worker& worker) noexcept {
    reads_ = share_->what == workload::mixed && !share_->stream->update();
    key_ = typename Kind::Key{share_->inserts() ? share_->new_records.next() : share_->stream->record()};
    makes_ = !reads_ && Kind::make(worker, key(), value_);
  }
  runtime::step ended(bool right, runtime::Worker& worker) {
    if (!share_->goes_on(right)) {
      return runtime::step::done;
    }
    choose(worker);
    worker.repin(*this);
    return this->restart(false);
  }
  typename Kind::Key key_;
  bool reads_ = false;
  bool makes_ = false;  ///< whether `value_` is the key's new value
  std::uint64_t value_ = 0;
  Share<Kind>* share_;
};

/// A scan of kScanEntries entries with their values. No thread may write meanwhile, because the last entry is
/// compared with the next one.
template <class Kind>
class RangeTask final : public index::ScanTask<RangeTask<Kind>, typename Kind::Traits> {
  using Base = index::ScanTask<RangeTask<Kind>, typename Kind::Traits>;
  using KeyT = typename Kind::Traits::Key;

 public:
  RangeTask(const runtime::TaskClass* task_class, Share<Kind>& share) noexcept
      : Base(task_class, *share.tree), key_(share.stream->record()), share_(&share) {}
  [[nodiscard]] KeyT key() const noexcept { return key_.first(key_bytes_); }
  void set_key(KeyT key) noexcept { key_bytes_ = key_.set(key); }
  [[nodiscard]] bool backward() const noexcept { return false; }
  [[nodiscard]] std::uint64_t wanted() const noexcept { return kScanEntries - seen_; }

  class Leaf {
   public:
    explicit Leaf(RangeTask& task) noexcept : task_(task) {}
    bool visit(std::uint64_t head, std::uint64_t value) {
      const auto key = Kind::key_in(head, value);
      task_.right_ =
          task_.right_ && Kind::right(key, value) &&
          (task_.seen_ == 0 ? key == task_.key() : Kind::key_in(task_.last_head_, task_.last_value_) < key);
      task_.last_head_ = head;
      task_.last_value_ = value;
      return ++task_.seen_ < kScanEntries;
    }
    /// All but the first and the last entry of a scan, where keys are numbers.
    unsigned take_run(const index::LeafEntries& entries, unsigned from, unsigned to, unsigned /*ask_to*/)
      requires Kind::Traits::kExact
    {
      if (task_.seen_ == 0) {
        return from;
      }
      const auto left = static_cast<unsigned>(kScanEntries - 1 - task_.seen_);
      to = std::min(to, from + left);
      bool right = task_.right_;
      std::uint64_t last = task_.last_head_;
      task_.seen_ += to - from;
      for (; from < to; ++from) {
        const std::uint64_t key = entries.heads[from];
        right &= Kind::right(key, entries.values[from]) && last < key;
        last = key;
      }
      task_.right_ = right;
      task_.last_head_ = last;
      return from;
    }

   private:
    RangeTask& task_;
  };
  [[nodiscard]] Leaf leaf_visitor(runtime::Worker& /*worker*/) noexcept { return Leaf{*this}; }
  runtime::step finished(bool exhausted, runtime::Worker& worker) {
    if (!share_->goes_on(right_ && (exhausted ? seen_ > 0 : seen_ == kScanEntries))) {
      return runtime::step::done;
    }
    key_ = typename Kind::Key{share_->stream->record()};
    key_bytes_ = Kind::Key::kBytes;
    seen_ = 0;
    right_ = true;
    worker.repin(*this);
    this->set_own_mark(false);
    return this->restart(false);
  }

 private:
  typename Kind::Key key_;
  std::uint64_t seen_ = 0;
  std::uint64_t last_head_ = 0;
  std::uint64_t last_value_ = 0;
  bool right_ = true;
  std::size_t key_bytes_ = Kind::Key::kBytes;
  Share<Kind>* share_;
};

template <class Kind>
void Share<Kind>::begin(runtime::Worker& worker) {
  if (what == workload::read) {
    worker.create<FindTask<Kind>>(*this)->start(worker);
  } else if (what == workload::scan) {
    worker.create<RangeTask<Kind>>(*this)->start(worker);
  } else {
    worker.create<PutTask<Kind>>(*this, worker)->start(worker);
  }
}

}  // namespace mxkv::bench
