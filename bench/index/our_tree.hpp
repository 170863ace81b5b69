// mxkv's tree as a container, with a runtime of its own. Each worker keeps as many tasks in flight as a job
// says.
#pragma once

#include <atomic>
#include <vector>

#include "bench/index/crew.hpp"
#include "bench/index/tree_parts.hpp"
#include "bench/index/tree_tasks.hpp"
#include "index/checker.hpp"

namespace mxkv::bench {

template <class Kind>
class OurTree final : public Container {
 public:
  using Traits = typename Kind::Traits;
  using Tree = index::Tree<Traits>;

  explicit OurTree(unsigned workers)
      : runtime_(options_of(workers), clock_), tree_(runtime_, index::TreeOptions{}), shares_(workers) {
    runtime::ReclaimKind item_kind{};
    Kind::add_kind(runtime_, item_kind);
    for (Share<Kind>& share : shares_) {
      share.tree = &tree_;
      share.item_kind = item_kind;
    }
  }

  [[nodiscard]] std::string name() const override { return "mxkv"; }
  [[nodiscard]] bool can(workload /*what*/, unsigned workers) const override {
    return workers == runtime_.worker_count();
  }
  [[nodiscard]] bool has_flights() const override { return true; }
  [[nodiscard]] const Tree& tree() const noexcept { return tree_; }
  [[nodiscard]] Tree& tree() noexcept { return tree_; }
  [[nodiscard]] runtime::Worker& worker(unsigned i) { return worker_at(i); }
  /// Another container inserts `entries` entries into this tree.
  void expect_more(std::uint64_t entries) noexcept { more_ += entries; }

  double run(const Job& job) override {
    std::atomic<unsigned> ready{0};
    for (unsigned i = 0; i < job.workers; ++i) {
      Share<Kind>& share = shares_[i];
      share.stream = &(*job.streams)[i];
      share.what = job.what;
      share.wanted = job.operations;
      share.started = share.finished = 0;
      share.new_records = NewRecords{job, i};
      runtime::Worker& worker = worker_at(i);
      worker.set_prefetch({runtime::prefetch_mode::at_spawn, 8, job.in_flight});
    }
    const double seconds = timed(job.workers, [&](unsigned i) {
      Share<Kind>& share = shares_[i];
      runtime::Worker& worker = worker_at(i);
      runtime_.epochs().enter(worker.id());
      for (unsigned n = 0; n < job.in_flight && share.started < share.wanted; ++n) {
        ++share.started;
        share.begin(worker);
      }
      while (share.finished < share.wanted) {
        worker.step();
      }
      ready.fetch_add(1, std::memory_order_relaxed);
      while (ready.load(std::memory_order_relaxed) < job.workers) {
        worker.step();  // other workers may need the tasks in this worker's pools
      }
    });
    settle();
    return seconds;
  }

  [[nodiscard]] std::uint64_t wrong() const override {
    std::uint64_t sum = 0;
    for (const Share<Kind>& share : shares_) {
      sum += share.wrong;
    }
    return sum;
  }
  std::string check(std::uint64_t records) override {
    const index::CheckReport report = index::Checker<Traits>::check(tree_);
    if (!report.errors.empty()) {
      return report.errors.front();
    }
    return report.entries == records + more_ ? "" : "holds " + std::to_string(report.entries) + " entries";
  }
  std::vector<Part> parts(std::uint64_t records) override {
    return tree_parts<Kind>(runtime_, tree_, records);
  }

 private:
  static runtime::RuntimeOptions options_of(unsigned workers) {
    runtime::RuntimeOptions options;
    for (unsigned i = 0; i < workers; ++i) {
      runtime::WorkerPlacement place;
      place.pinned = false;
      options.workers.push_back(place);
    }
    return options;
  }
  [[nodiscard]] runtime::Worker& worker_at(std::size_t i) {
    return runtime_.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  /// Executes leftover tasks: separators of splits. Only while no thread works.
  void settle() {
    for (int quiet = 0; quiet < 3; ++quiet) {
      for (std::size_t i = 0; i < shares_.size(); ++i) {
        quiet = worker_at(i).step() ? 0 : quiet;
      }
    }
  }

  runtime::SystemClock clock_;
  runtime::Runtime runtime_;
  Tree tree_;
  std::vector<Share<Kind>> shares_;
  std::uint64_t more_ = 0;
};

}  // namespace mxkv::bench
