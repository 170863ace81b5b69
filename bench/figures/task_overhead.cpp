// The cost of a task alone: a traversal of five levels that does no work at any of them, on nodes in the
// nearest cache. Allocate, pin, spawn, refill, dispatch, read under a version, finish.
//
// The figure is ns an operation by the number of levels that are queued hops; the others are run through. The
// difference of two neighbours is the cost of a hop.
#include <deque>

#include "bench/figures/figure.hpp"
#include "bench/index/tree_work.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::Run;
using runtime::step;
using runtime::Worker;

constexpr unsigned kLevels = 5;
constexpr std::size_t kChildren = 2;  // 31 nodes of a line each: 2 KiB

struct alignas(runtime::kCacheLineBytes) HopNode final : runtime::DataObject {
  HopNode() noexcept : DataObject(runtime::PoolId{1}, runtime::primitive::optimistic_latch) {}
  runtime::RelaxedWord children[kChildren]{};
};
static_assert(sizeof(HopNode) == runtime::kCacheLineBytes);

/// State that the tasks of one measurement share.
struct HopRun {
  Run run;
  const HopNode* root = nullptr;
  unsigned run_through = kLevels;  ///< levels from the root that are no hops
};

class HopTask final : public runtime::MxTask {
 public:
  struct Scratch {
    std::uint64_t child = 0;
  };

  HopTask(const runtime::TaskClass* task_class, HopRun& shared) noexcept
      : MxTask(task_class), shared_(&shared), key_(++shared.run.started * 0x9E3779B97F4A7C15U >> 32U) {}
  void start(Worker& worker) {
    worker.pin(*this);
    annotate_lines(runtime::TaggedPointer{shared_->root, 0}, 0, 1);
    worker.spawn(this);
  }

  [[nodiscard]] bool staged() const noexcept { return false; }
  void inspect(const runtime::OptimisticRead& /*read*/, Scratch& scratch) const noexcept {
    scratch.child = child_of(*static_cast<const HopNode*>(object().object()), level_);
  }
  step resume(Scratch& scratch, Worker& worker) {
    descend(scratch.child);
    if (level_ == kLevels) {
      return end(worker);
    }
    return level_ < shared_->run_through ? step::now : step::again;
  }
  step conflict(Worker& /*worker*/) { return step::again; }

  /// As a look-up in the tree does: levels that are run through, then up to one hop.
  [[nodiscard, gnu::always_inline]] bool run_fast(Worker& worker, step& next) {
    runtime::TaggedPointer at = object();
    unsigned level = level_;
    do {
      const HopNode& node = *static_cast<const HopNode*>(at.object());
      const runtime::OptimisticRead read{node};
      const runtime::TaggedPointer child{child_of(node, level)};
      if (read.locked() || !read.valid()) [[unlikely]] {
        return false;
      }
      at = child;
    } while (++level < shared_->run_through);
    if (level == kLevels) {
      next = end(worker);
      return true;
    }
    level_ = level;
    annotate_lines(at, 0, 1);
    next = step::again;
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t child_of(const HopNode& node, unsigned level) const noexcept {
    return node.children[(key_ >> level) % kChildren].load();
  }
  void descend(std::uint64_t child) noexcept {
    ++level_;
    annotate_lines(runtime::TaggedPointer{child}, 0, 1);
  }
  step end(Worker& worker) {
    ++shared_->run.finished;
    if (shared_->run.started < shared_->run.wanted) {
      worker.create<HopTask>(*shared_)->start(worker);
    }
    return step::done;
  }

  HopRun* shared_;
  std::uint64_t key_;
  unsigned level_ = 0;
};
static_assert(sizeof(HopTask) <= 64, "one line, as a look-up");

/// A full tree of kLevels; the last level's children are its parents' siblings, never visited.
const HopNode* make_nodes(std::deque<HopNode>& nodes, unsigned level) {
  HopNode& node = nodes.emplace_back();
  for (runtime::RelaxedWord& child : node.children) {
    const HopNode* below = level + 1 < kLevels ? make_nodes(nodes, level + 1) : &node;
    child.store(runtime::TaggedPointer{below, 0}.word());
  }
  return &node;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t operations = 5'000'000;
  std::uint64_t window = 64;
  bench::Figure figure{"task-overhead", "What a traversal costs that does nothing"};
  figure.number("operations", operations, "operations a measurement");
  figure.number("window", window, "operations in flight", 1, 256);
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  runtime::RuntimeOptions options;
  options.workers.emplace_back().pinned = false;
  options.prefetch.window = static_cast<std::uint32_t>(window);
  const runtime::SystemClock clock;
  runtime::Runtime runtime{options, clock};
  std::deque<HopNode> nodes;
  HopRun shared;
  shared.root = make_nodes(nodes, 0);
  std::vector<std::vector<double>> measured(kLevels);
  for (std::uint64_t round = 0; round < figure.rounds(); ++round) {
    for (unsigned hops = 0; hops < kLevels; ++hops) {
      shared.run_through = kLevels - hops;
      const double start = bench::thread_cpu_seconds();
      bench::execute(runtime, shared.run, operations, window,
                     [&shared](Worker& on) { on.create<HopTask>(shared)->start(on); });
      measured[hops].push_back((bench::thread_cpu_seconds() - start) * 1e9 / static_cast<double>(operations));
    }
  }
  for (unsigned hops = 0; hops < kLevels; ++hops) {
    figure.point("five levels", static_cast<double>(hops), bench::median(measured[hops]), "ns an operation");
  }
  const double most = bench::median(measured.back());
  const double least = bench::median(measured.front());
  figure.point("a queued hop", static_cast<double>(kLevels - 1), (most - least) / (kLevels - 1), "ns a hop");
  return 0;
}
