// What a block costs: task blocks and values, hot and out of cache, beside the system's malloc.
//
// "Replace" is the pattern of a store: allocate an item, fill it, release a random older one. It runs over a
// working set far beyond the caches, so it shows what the allocator touches besides the blocks. It does not
// measure contention; tests/stress shows that blocks may travel, mxkv-ycsb what it costs.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/memory/core_heap.hpp"
#include "runtime/memory/value_heap.hpp"

namespace mxkv::bench {
namespace {

using namespace runtime;  // NOLINT(google-build-using-namespace): a program of its own

constexpr std::size_t kItemBytes = 140;  // header 16, key 24, value 100
constexpr std::size_t kItems = 1'000'000;

struct Malloc {
  void* allocate(std::size_t bytes) { return std::malloc(bytes); }
  void release(void* block) { std::free(block); }
  void prepare(std::size_t /*bytes*/) {}
};

struct Values {
  MemoryBudget budget{MemoryBudget::kUnlimited, 1};
  ValueSpace space{budget, ValueSpaceOptions{}};
  ValueHeap heap{space, budget.account(WorkerId(0)), WorkerId(0), NumaNodeId(0)};

  void* allocate(std::size_t bytes) { return heap.allocate(bytes); }
  void release(void* block) { heap.release(block); }
  void prepare(std::size_t bytes) { __builtin_prefetch(heap.next_block(bytes), 1); }
};

struct Tasks {
  MemoryBudget budget{MemoryBudget::kUnlimited, 1};
  TaskMemory memory{budget, PageOptions{}};
  CoreHeap heap{memory.processor_heap(NumaNodeId(0))};

  void* allocate(std::size_t bytes) { return heap.allocate(task_block_for(bytes)); }
  void release(void* block) { heap.release(block, task_block::bytes_64); }
};

/// `range(0)` blocks are allocated, then released: 1 is a pure pair, 64 a batch in flight.
template <class Allocator, std::size_t bytes>
void in_flight(benchmark::State& state) {
  Allocator allocator;
  std::vector<void*> blocks(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    for (void*& block : blocks) {
      block = allocator.allocate(bytes);
      benchmark::DoNotOptimize(block);
    }
    for (void* block : blocks) {
      allocator.release(block);
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

template <class Allocator>
void replace(benchmark::State& state) {
  Allocator allocator;
  Random random(1);
  std::vector<void*> items(kItems);
  for (void*& item : items) {
    item = allocator.allocate(kItemBytes);
    std::memset(item, 1, kItemBytes);
  }
  for (auto _ : state) {
    void*& slot = items[random.below(kItems)];
    void* const fresh = allocator.allocate(kItemBytes);
    std::memset(fresh, 2, kItemBytes);
    allocator.release(slot);
    slot = fresh;
    if (state.range(0) != 0) {
      allocator.prepare(kItemBytes);
    }
  }
  for (void* item : items) {
    allocator.release(item);
  }
}

BENCHMARK(in_flight<Tasks, 64>)->Arg(1)->Arg(64)->Arg(256);
BENCHMARK(in_flight<Malloc, 64>)->Arg(1)->Arg(64)->Arg(256);
BENCHMARK(in_flight<Values, kItemBytes>)->Arg(1)->Arg(64)->Arg(256);
BENCHMARK(in_flight<Malloc, kItemBytes>)->Arg(1)->Arg(64)->Arg(256);
BENCHMARK(replace<Values>)->Arg(0)->Arg(1);
BENCHMARK(replace<Malloc>)->Arg(0);

}  // namespace
}  // namespace mxkv::bench

BENCHMARK_MAIN();
