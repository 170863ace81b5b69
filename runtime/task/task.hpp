// MxTask: a small unit of work that runs to completion. Its annotations tell the runtime which data object it
// touches and how [Mx 2, 3]. Plain data: the header of a 64/128/192/384-byte block.
//
// A task never blocks, sleeps, locks a mutex or does file I/O. It is re-annotated and respawned along a
// traversal, so a request costs one allocation. A static TaskClass says which code runs, not a virtual
// call, so that the compiler injects the synchronisation into one instance per class.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/resource/data_object.hpp"
#include "runtime/task/target.hpp"

namespace mxkv::runtime {

class Worker;
class MxTask;

/// How a task uses its annotated data object.
enum class access : std::uint8_t { readonly, write };

/// Tasks of low priority run when the worker has nothing else that could fill its prefetch buffer; tasks of
/// high priority do not wait for room in its window.
enum class priority : std::uint8_t { low, normal, high };

/// How near to its spawner a free task runs [LAS 4]. The worker that takes an immediate or a deferred task
/// makes it `here`.
enum class locality : std::uint8_t {
  here,       ///< on the worker that spawned it, in order; never stolen
  immediate,  ///< soon and near: shares most of its data with its spawner, which takes the youngest first
  deferred,   ///< begins a larger piece of work, of the request that it is annotated with; by an idle worker
};

/// Annotation: a deferred task of a request (Worker::new_request()).
struct deferred {
  explicit deferred(RequestId of) noexcept : request(of) {}
  RequestId request;
};

/// A task's request to the runtime when it returns.
enum class step : std::uint8_t {
  done,    ///< finished: the runtime leaves its pin and frees its block
  again,   ///< re-annotated: spawn it again
  now,     ///< re-annotated with an object that sits in a near cache: run it at once
  retry,   ///< met a writer: run it again later, behind other work
  later,   ///< waits for something that takes long, such as memory: run it again in the worker's next round
  parked,  ///< handed to another holder; the runtime forgets it
};

/// The result of a task's turn on its fast path.
enum class went : std::uint8_t {
  astray,  ///< guarded execution is to go on from here
  on,      ///< to its next lines, which it asked for if it asks itself; it keeps its place
  told,    ///< a step, as after guarded execution
};

/// The part that all tasks of one class share. One constant a class.
struct TaskClass {
  const char* name;
  step (*run)(MxTask&, Worker&);      ///< guarded execution
  void (*discard)(MxTask&, Worker&);  ///< drops a task that will never run (shutdown)
  /// One turn on the fast path, if the class has one, of a task that asks for its lines itself, and of one that does
  /// not. Never astray.
  went (*turn)(MxTask&, Worker&, step&);
  went (*quiet_turn)(MxTask&, Worker&, step&);
  /// Null, or gives the free tasks of the worker's prefetch buffer their turns, preferably tasks of this
  /// class. It ends after so many turns, or at a task that it cannot run. Returns how many turns are left.
  std::uint64_t (*run_stretch)(Worker&, std::uint64_t) = nullptr;
  /// Null, or writes the state of the object that the task waits at, in at most `size` bytes; returns how
  /// many. Right after step::retry.
  std::size_t (*describe)(const MxTask&, char* out, std::size_t size) = nullptr;
  /// Null, or called when the pool by which the task came was an old one of its object's.
  void (*forwarded)(MxTask&, Worker&) = nullptr;
};

/// A task's description of itself for the runtime, all optional, and two bytes that are the task's own. They sit
/// here so that a look-up fits one cache line.
struct Annotations {
  static constexpr std::uint8_t kNoPin = 0xFF;
  static constexpr std::uint16_t kAnyWorker = Target::kAnywhere;

  runtime::access access : 1 = runtime::access::readonly;
  runtime::priority priority : 2 = runtime::priority::normal;
  std::uint8_t block : 3 = 0;  ///< index of the block's size class; set when the task is created
  runtime::locality locality : 2 = runtime::locality::here;
  std::uint8_t first_line = 0;        ///< first line of the object that the task touches
  std::uint8_t line_count = 0;        ///< how many lines from there; 0: prefetch nothing
  std::uint8_t pin_slot = kNoPin;     ///< epoch slot of the request's pin; kNoPin: none
  std::uint16_t target = kAnyWorker;  ///< a Target; kAnyWorker: where it was spawned
  std::uint8_t stage = 0;             ///< the task's own: how far its staged access is
  std::uint8_t mark = 0;              ///< the task's own

  /// Target, stage and mark as one word: the word of a task with neither target nor mark at a stage.
  [[nodiscard]] static constexpr std::uint32_t free_at(std::uint8_t stage) noexcept {
    return kAnyWorker | std::uint32_t{stage} << 16U;
  }
  /// Neither high nor low, nor immediate or deferred: it goes behind what its worker has already.
  [[nodiscard]] bool waits_its_turn() const noexcept {
    return priority == runtime::priority::normal && locality == runtime::locality::here;
  }
};

static_assert(sizeof(Annotations) == 8 && offsetof(Annotations, line_count) == 2 &&
                  offsetof(Annotations, target) == 4 && offsetof(Annotations, stage) == 6 &&
                  std::endian::native == std::endian::little,
              "MxTask takes some of them as one word");

/// Header of every task. Thread-safety: owned by its holder; queues transfer ownership.
class MxTask {
 public:
  explicit MxTask(const TaskClass* task_class) noexcept : class_(task_class) {}
  MxTask(const MxTask&) = delete;
  MxTask& operator=(const MxTask&) = delete;

  // Annotations as in [Mx fig. 2].
  void annotate(priority how) noexcept { annotations_.priority = how; }
  void annotate(access how) noexcept { annotations_.access = how; }
  void annotate(locality how) noexcept { annotations_.locality = how; }
  /// The request takes the word of seen_version(): it is there until the task first inspects an object.
  void annotate(deferred how) noexcept {
    annotations_.locality = locality::deferred;
    seen_version_ = how.request.value();
  }
  /// The task touches the first `bytes` of `object`.
  void annotate(TaggedPointer object, std::size_t bytes) noexcept {
    annotate_lines(object, 0, (bytes + kCacheLineBytes - 1) / kCacheLineBytes);
  }
  /// The task touches `count` lines of `object` from line `first`, below 256 (staged access). More than 255
  /// lines are cut to 255: so many prefetches would throw each other out of the cache.
  void annotate_lines(TaggedPointer object, std::size_t first, std::size_t count) noexcept {
    MXKV_DCHECK(first < 256, "the first line has eight bits");
    object_ = object;
    annotations_.first_line = static_cast<std::uint8_t>(first);
    annotations_.line_count = static_cast<std::uint8_t>(std::min<std::size_t>(count, 255));
  }
  /// The task must run on `worker`, on some worker of a core group or node, or under the lease of a pool;
  /// with WorkerId{Annotations::kAnyWorker} where it is spawned. Whether that exists is checked at spawn.
  void annotate(WorkerId worker) noexcept { annotations_.target = Target{worker}.encoded(); }
  void annotate(CoreGroupId group) noexcept { annotations_.target = Target{group}.encoded(); }
  void annotate(NumaNodeId node) noexcept { annotations_.target = Target{node}.encoded(); }
  void annotate(PoolId pool) noexcept { annotations_.target = Target{pool}.encoded(); }

  // Several annotations at once, for loops in which each instruction counts.
  /// To compare with Annotations::free_at().
  [[nodiscard]] std::uint32_t free_at() const noexcept {
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&annotations_) + offsetof(Annotations, target),
                sizeof word);
    return word;
  }
  /// The task, without target and mark, touches `count` lines of `object` from line `first`, at `stage`.
  void move_to(TaggedPointer object, std::size_t first, std::size_t count, std::uint8_t stage) noexcept {
    MXKV_DCHECK(first < 256 && count < 256, "lines have eight bits");
    object_ = object;
    const auto lines = static_cast<std::uint16_t>(first | count << 8U);
    const std::uint32_t word = Annotations::free_at(stage);
    char* const notes = reinterpret_cast<char*>(&annotations_);
    std::memcpy(notes + offsetof(Annotations, first_line), &lines, sizeof lines);
    std::memcpy(notes + offsetof(Annotations, target), &word, sizeof word);
  }

  [[nodiscard]] const TaskClass& task_class() const noexcept { return *class_; }
  [[nodiscard]] TaggedPointer object() const noexcept { return object_; }
  [[nodiscard]] Annotations& annotations() noexcept { return annotations_; }
  [[nodiscard]] const Annotations& annotations() const noexcept { return annotations_; }

  /// The request that a deferred task belongs to, until it inspects an object.
  [[nodiscard]] RequestId request() const noexcept { return RequestId{seen_version_}; }

  /// Version of the object that an earlier stage of the task validated.
  [[nodiscard]] std::uint64_t seen_version() const noexcept { return seen_version_; }
  void see_version(std::uint64_t version) noexcept { seen_version_ = version; }

  /// Asks the memory system for the annotated lines. Where there are none, for the task's own behind its header:
  /// it may have waited for long.
  [[gnu::always_inline]] void prefetch() const noexcept {
    const std::byte* const line =
        object_.first_line() + std::size_t{annotations_.first_line} * kCacheLineBytes;
    const unsigned count = annotations_.line_count;
    if (count - 1 < 2) [[likely]] {  // a staged access asks for one line, then two
      prefetch_read(line);
      prefetch_read(line + std::size_t{count - 1} * kCacheLineBytes);
    } else if (count != 0) {
      prefetch_lines(line, count);
    } else {
      prefetch_lines(reinterpret_cast<const std::byte*>(this) + kCacheLineBytes, 3);
    }
  }

  /// Link of whichever queue or list holds the task.
  [[nodiscard]] std::atomic<MxTask*>& next() noexcept { return next_; }

 private:
  std::atomic<MxTask*> next_{nullptr};
  const TaskClass* class_;
  TaggedPointer object_;
  Annotations annotations_;
  std::uint64_t seen_version_ = 0;
};

static_assert(sizeof(MxTask) == 40);

/// A singly linked list of tasks, first in first out. Thread-safety: owner only.
class TaskList {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }

  void push_back(MxTask* task) noexcept {
    MXKV_DCHECK(task != nullptr && (head_ == nullptr || task != tail_), "a task is in one list, once");
    task->next().store(nullptr, std::memory_order_relaxed);
    if (head_ == nullptr) {
      head_ = task;
    } else {
      tail_->next().store(task, std::memory_order_relaxed);
    }
    tail_ = task;
  }

  [[nodiscard]] MxTask* pop_front() noexcept {
    MxTask* task = head_;
    if (task != nullptr) {
      head_ = task->next().load(std::memory_order_relaxed);
      prefetch_read(head_);
      prefetch_line(head_, 1);
    }
    return task;
  }

 private:
  MxTask* head_ = nullptr;
  MxTask* tail_ = nullptr;
};

}  // namespace mxkv::runtime
