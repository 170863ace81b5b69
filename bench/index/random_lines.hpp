// The other ceiling: random lines of memory, with a number of loads in flight. The address of each load
// depends on the line that the previous load of its chain returned. Uses huge pages if the system gives them.
#pragma once

#include <atomic>
#include <new>
#include <vector>

#include "bench/index/crew.hpp"
#include "bench/index/job.hpp"
#include "runtime/memory/page_range.hpp"

namespace mxkv::bench {

class RandomLines final : public Container {
 public:
  /// Throws std::bad_alloc.
  explicit RandomLines(std::size_t bytes)
      : pages_(bytes, runtime::PageOptions{}), lines_(bytes / runtime::kCacheLineBytes) {
    words_ = static_cast<std::uint64_t*>(pages_.take(bytes, runtime::NumaNodeId{0}));
    if (words_ == nullptr) {
      throw std::bad_alloc{};
    }
    for (std::uint64_t line = 0; line < lines_; ++line) {
      words_[line * kWordsALine] = line * kFactor;
    }
  }

  [[nodiscard]] std::string name() const override { return "random lines"; }
  [[nodiscard]] bool can(workload what, unsigned /*workers*/) const override {
    return what == workload::read;
  }
  [[nodiscard]] bool has_flights() const override { return true; }
  double run(const Job& job) override {
    return timed(job.workers, [&](unsigned i) {
      wrong_.fetch_add(follow(i, job.operations, job.in_flight), std::memory_order_relaxed);
    });
  }
  [[nodiscard]] std::uint64_t wrong() const override { return wrong_.load(std::memory_order_relaxed); }
  std::string check(std::uint64_t /*records*/) override { return ""; }
  std::vector<Part> parts(std::uint64_t /*records*/) override { return {}; }

 private:
  static constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ULL;
  static constexpr std::size_t kWordsALine = runtime::kCacheLineBytes / sizeof(std::uint64_t);

  /// Follows `in_flight` chains in turn; returns the number of wrong lines.
  [[nodiscard]] std::uint64_t follow(unsigned worker, std::uint64_t operations, unsigned in_flight) const {
    runtime::Random random{worker + 1};
    std::vector<std::uint64_t> chains(in_flight);
    for (std::uint64_t& line : chains) {
      line = random.below(lines_);
      runtime::prefetch_read(words_ + line * kWordsALine);
    }
    std::uint64_t wrong = 0;
    std::size_t turn = 0;
    for (std::uint64_t i = 0; i < operations; ++i) {
      const std::uint64_t line = chains[turn];
      const std::uint64_t word = words_[line * kWordsALine];
      wrong += word == line * kFactor ? 0 : 1;
      const std::uint64_t next = ((word ^ random()) >> 32U) * lines_ >> 32U;
      runtime::prefetch_read(words_ + next * kWordsALine);
      chains[turn] = next;
      turn = turn + 1 < in_flight ? turn + 1 : 0;
    }
    return wrong;
  }

  runtime::PageRange pages_;
  std::uint64_t lines_;
  std::uint64_t* words_ = nullptr;
  std::atomic<std::uint64_t> wrong_{0};  // a sum, read when the threads have ended
};

}  // namespace mxkv::bench
