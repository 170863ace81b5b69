// [Mx fig. 7]: the cost of allocating tasks, by the three-level task allocator and by the system's malloc.
//
// Three measures, each in ns a task: 64 blocks allocated and released; an empty task created, spawned,
// executed and freed; a look-up in a tree that is a fresh task each time. LD_PRELOAD of the process decides
// the malloc;
// --system-name names it in the output.
#include <cstdlib>
#include <new>

#include "bench/figures/figure.hpp"
#include "bench/index/tree_work.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::IntegerTraits;
using bench::IntegerTree;
using bench::key_of;
using bench::Run;
using runtime::step;
using runtime::Worker;

constexpr std::size_t kInFlight = 64;

/// Tasks of the runtime's own allocator.
struct OurTasks {
  static void* allocate(Worker& worker) { return worker.allocate_block(runtime::task_block::bytes_64); }
  static void release(Worker& worker, void* block) {
    worker.release_block(block, runtime::task_block::bytes_64);
  }
  template <class T, class... Args>
  static T* create(Worker& worker, Args&&... args) {
    return worker.create<T>(std::forward<Args>(args)...);
  }
  static step end(runtime::MxTask& /*task*/, Worker& /*worker*/) { return step::done; }
};

/// Tasks of malloc. A task lies at a multiple of 64 bytes; malloc's pointer stands right before it.
struct SystemTasks {
  static constexpr std::size_t kAlignment = 64;

  static void* allocate(Worker& /*worker*/) { return std::malloc(kAlignment); }
  static void release(Worker& /*worker*/, void* block) { std::free(block); }
  template <class T, class... Args>
  static T* create(Worker& /*worker*/, Args&&... args) {
    void* const raw = std::malloc(sizeof(T) + kAlignment + sizeof(void*));
    if (raw == nullptr) {
      throw std::bad_alloc{};
    }
    const auto after = reinterpret_cast<std::uintptr_t>(raw) + sizeof(void*);
    auto* const place = reinterpret_cast<void**>((after + kAlignment - 1) / kAlignment * kAlignment);
    place[-1] = raw;
    return new (place) T(&runtime::kTaskClassOf<T>, std::forward<Args>(args)...);
  }
  static step end(runtime::MxTask& task, Worker& worker) {
    worker.unpin(task);
    std::free(reinterpret_cast<void**>(&task)[-1]);
    return step::parked;  // the runtime forgets it
  }
};

/// Does nothing, and spawns its successor.
template <class Allocator>
class EmptyTask final : public runtime::MxTask {
 public:
  EmptyTask(const runtime::TaskClass* task_class, Run& run) noexcept : MxTask(task_class), run_(&run) {
    ++run.started;
  }
  step execute(Worker& worker) {
    ++run_->finished;
    if (run_->started < run_->wanted) {
      worker.spawn(Allocator::template create<EmptyTask>(worker, *run_));
    }
    return Allocator::end(*this, worker);
  }

 private:
  Run* run_;
};

/// One look-up; the next one is another task.
template <class Allocator>
class OneLookup final : public index::LookupTask<OneLookup<Allocator>, IntegerTraits> {
  using Base = index::LookupTask<OneLookup<Allocator>, IntegerTraits>;

 public:
  OneLookup(const runtime::TaskClass* task_class, IntegerTree& tree, Run& run) noexcept
      : Base(task_class, tree), key_(key_of(run.random.below(run.keys))), run_(&run) {
    ++run.started;
  }
  [[nodiscard]] std::uint64_t key() const noexcept { return key_; }
  step on_found(std::uint64_t value, Worker& worker) { return next(value == ~key_, worker); }
  step on_missing(Worker& worker) { return next(false, worker); }

 private:
  step next(bool right, Worker& worker) {
    ++run_->finished;
    run_->wrong += right ? 0 : 1;
    if (run_->started < run_->wanted) {
      Allocator::template create<OneLookup>(worker, this->tree(), *run_)->start(worker);
    }
    return Allocator::end(*this, worker);
  }
  std::uint64_t key_;
  Run* run_;
};

/// Measures of one allocator, in ns a task.
template <class Allocator>
struct Measures {
  runtime::Runtime& runtime;
  IntegerTree& tree;
  Run& run;
  std::uint64_t tasks;

  [[nodiscard]] Worker& worker() const { return runtime.worker(runtime::WorkerId{0}); }

  double allocate_and_free() const {
    void* blocks[kInFlight];
    const double start = bench::thread_cpu_seconds();
    for (std::uint64_t done = 0; done < tasks; done += kInFlight) {
      for (void*& block : blocks) {
        block = Allocator::allocate(worker());
        *static_cast<void* volatile*>(block) = block;  // a task's header is written
      }
      for (void* block : blocks) {
        Allocator::release(worker(), block);
      }
    }
    return per_task(start);
  }
  double spawn_and_execute() const {
    const double start = bench::thread_cpu_seconds();
    bench::execute(runtime, run, tasks, kInFlight, [this](Worker& on) {
      on.spawn(Allocator::template create<EmptyTask<Allocator>>(on, run));
    });
    return per_task(start);
  }
  double look_up() const {
    const double start = bench::thread_cpu_seconds();
    bench::execute(runtime, run, tasks, kInFlight, [this](Worker& on) {
      Allocator::template create<OneLookup<Allocator>>(on, tree, run)->start(on);
    });
    return per_task(start);
  }

 private:
  [[nodiscard]] double per_task(double start) const {
    return (bench::thread_cpu_seconds() - start) * 1e9 / static_cast<double>(tasks);
  }
};

template <class Allocator>
void add_variants(std::vector<bench::Variant>& variants, const std::string& name,
                  const Measures<Allocator>& measures) {
  variants.push_back({name, "allocate and free", [&measures] { return measures.allocate_and_free(); }});
  variants.push_back({name, "spawn and execute", [&measures] { return measures.spawn_and_execute(); }});
  variants.push_back({name, "look-up in a tree", [&measures] { return measures.look_up(); }});
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t keys = 1'000'000;
  std::uint64_t tasks = 2'000'000;
  std::string system_name = "malloc";
  bool only_system = false;
  bench::Figure figure{"task-allocation", "What allocating a task costs [Mx fig. 7]"};
  figure.number("keys", keys, "keys in the tree");
  figure.number("tasks", tasks, "tasks a measurement");
  figure.text("system-name", system_name, "the name of the allocator behind malloc");
  figure.flag("only-system", only_system, "leave the runtime's allocator out");
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  runtime::RuntimeOptions options;
  options.workers.push_back({.pu = runtime::PuId{0}, .node = runtime::NumaNodeId{0}, .pinned = false});
  const runtime::SystemClock clock;
  runtime::Runtime runtime{options, clock};
  IntegerTree tree{runtime, index::TreeOptions{}};
  Run run;
  run.keys = keys;
  bench::execute(runtime, run, keys, kInFlight,
                 [&](Worker& on) { on.create<bench::WriteTask>(tree, run, true)->start(on); });
  const Measures<OurTasks> ours{runtime, tree, run, tasks};
  const Measures<SystemTasks> system{runtime, tree, run, tasks};
  std::vector<bench::Variant> variants;
  if (!only_system) {
    add_variants(variants, "core, processor and global heap", ours);
  }
  add_variants(variants, system_name, system);
  figure.measure(variants, "ns a task");
  if (run.wrong > 0) {
    figure.note(std::to_string(run.wrong) + " wrong results");
    return 1;
  }
  return 0;
}
