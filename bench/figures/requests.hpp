// Requests as pipelines of tasks that hand blocks of memory to each other, in the shapes of the plans of [LAS
// 6]. figure-las runs them under two task orders, and figure-request-memory with two allocators.
//
// A request begins as one deferred task, which makes the request's input. It spawns a deferred task for each
// partition, which reads its part of the input, or whole blocks of it, and emits blocks. Every block goes
// through stages, each an immediate task that reads a block and writes the next one. With `merge`, the
// results of the partitions are combined in pairs.
//
// With `operators` a request is a chain of operators, each strictly serial, as in the paper's plans. An
// operator has a queue of blocks and a state, which its first task makes where it runs. Each of its tasks
// reads one block and a part of the state, and writes a block for the next operator. An operator whose
// successor has kMostQueued blocks waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/figures/paper_machine.hpp"
#include "runtime/scheduler/runtime.hpp"

namespace mxkv::bench {

struct RequestShape {
  const char* name;
  unsigned partitions;  ///< a power of two where they are merged
  unsigned blocks;      ///< that a partition emits
  unsigned stages;
  bool merge;
  unsigned inputs =
      0;  ///< blocks of the input that a partition reads whole, in turn; 0: a part of the only one
  unsigned operators = 0;  ///< in a chain, in place of partitions, of which the first emits `blocks`; 0: none
  unsigned state = 0;      ///< blocks of an operator's state, of which a task reads one
};

/// A long pipeline as the paper's Q2; many short pipelines; many whose results are merged, as its sorts do;
/// many that scan an input of a quarter of their output, and are merged; and a long pipeline of serial
/// operators, without and with the state that joins and groupings keep.
[[nodiscard]] std::span<const RequestShape> request_shapes() noexcept;

enum class block_source : std::uint8_t { value_heap, malloc };

/// State that the workers of one measurement share.
class RequestRun {
 public:
  struct Options {
    RequestShape shape{};
    std::size_t block_bytes = 65'536;
    block_source source = block_source::value_heap;
    bool touch = true;  ///< false: blocks are numbers in a simulation, of which only a header exists
    PaperMachine* machine = nullptr;  ///< the machine that a simulation takes its time from
    std::uint64_t requests = 64;
    std::uint64_t at_once = 16;
  };

  /// Per worker; written by it, read when all are done.
  struct alignas(runtime::kCacheLineBytes) Counts {
    std::uint64_t steps = 0;         ///< tasks executed
    std::uint64_t remote_steps = 0;  ///< that read a block of another NUMA node
    std::uint64_t bytes = 0;         ///< read
    std::uint64_t remote_bytes = 0;
  };

  RequestRun(runtime::Runtime& runtime, const Options& options);

  /// Spawns the first requests, from outside: each to the deferred tasks of a worker's group, in turn. When
  /// one ends, the next one begins at the same place.
  void begin();
  [[nodiscard]] bool done() const noexcept {
    return finished_.load(std::memory_order_acquire) >= options_.requests;
  }
  void wait() const noexcept;  ///< until done
  [[nodiscard]] Counts sum() const noexcept;
  [[nodiscard]] const Counts& counts(runtime::WorkerId worker) const noexcept {
    return counts_[worker.index()];
  }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  struct Block;
  struct Request;
  class StartTask;
  class PartitionTask;
  class StageTask;
  class MergeTask;
  class OperatorTask;

  [[nodiscard]] Block* make(runtime::Worker& worker);
  void release(runtime::Worker& worker, Block* block) noexcept;
  void read(runtime::Worker& worker, const Block& block, std::size_t bytes, bool& remote) noexcept;
  void end_step(runtime::Worker& worker, bool remote) noexcept;
  void partition_done(runtime::Worker& worker, Request& request, unsigned partition, Block* result);
  /// Spawns the operator's task if it has something to do and none runs.
  void wake(runtime::Worker& worker, Request& request, unsigned which);
  void request_done(runtime::Worker& worker, Request& request) noexcept;

  runtime::Runtime& runtime_;
  Options options_;
  std::vector<Counts> counts_;
  std::atomic<std::uint64_t> started_{0};
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<std::uint64_t> checksum_{0};  ///< sum of all reads, so that the compiler cannot leave them out
};

/// Milliseconds a request on this machine, with a worker a PU.
[[nodiscard]] double request_ms(runtime::task_order order, const RequestRun::Options& requests);

}  // namespace mxkv::bench
