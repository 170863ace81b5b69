#include "bench/figures/requests.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "bench/figures/figure.hpp"
#include "runtime/memory/short_latch.hpp"
#include "runtime/topology/build.hpp"

namespace mxkv::bench {

using runtime::step;
using runtime::Worker;

namespace {

constexpr unsigned kMostPartitions = 64;

constexpr std::size_t kMostQueued = 4;

constexpr std::array<RequestShape, 6> kShapes{{
    {.name = "one pipeline", .partitions = 1, .blocks = 256, .stages = 8, .merge = false},
    {.name = "32 pipelines", .partitions = 32, .blocks = 16, .stages = 4, .merge = false},
    {.name = "32 pipelines, merged", .partitions = 32, .blocks = 16, .stages = 2, .merge = true},
    {.name = "32 scans, merged", .partitions = 32, .blocks = 16, .stages = 2, .merge = true, .inputs = 4},
    {.name = "8 operators", .partitions = 0, .blocks = 256, .stages = 0, .merge = false, .operators = 8},
    {.name = "8 operators with state",
     .partitions = 0,
     .blocks = 256,
     .stages = 0,
     .merge = false,
     .operators = 8,
     .state = 16},
}};

}  // namespace

std::span<const RequestShape> request_shapes() noexcept {
  return kShapes;
}

/// The beginning of a block's memory.
struct RequestRun::Block {
  runtime::NumaNodeId node;  ///< of the worker that made it
  std::uint64_t seed;
  [[nodiscard]] std::span<std::uint64_t> words(std::size_t block_bytes) noexcept {
    return {reinterpret_cast<std::uint64_t*>(this + 1),
            (block_bytes - sizeof(Block)) / sizeof(std::uint64_t)};
  }
  [[nodiscard]] std::span<const std::uint64_t> words(std::size_t block_bytes) const noexcept {
    return {reinterpret_cast<const std::uint64_t*>(this + 1),
            (block_bytes - sizeof(Block)) / sizeof(std::uint64_t)};
  }
};

/// A box of the plan. All but the state is guarded by the latch; the state is the running task's.
struct Operator {
  runtime::detail::ShortLatch latch;
  std::deque<void*> queue;  ///< blocks
  unsigned to_emit = 0;     ///< blocks that the first operator, which has no queue, still has to emit
  unsigned ended = 0;       ///< blocks that the operator has passed on
  bool scheduled = false;
  std::vector<void*> state;
};

struct RequestRun::Request {
  explicit Request(unsigned operators) : chain(operators) {}
  std::deque<Operator> chain;
  std::atomic<unsigned> chain_tasks{0};  ///< spawned and not ended
  runtime::RequestId id;
  std::vector<Block*> inputs;
  std::atomic<unsigned> partitions_left{0};
  std::array<std::atomic<unsigned>, kMostPartitions> blocks_left{};
  std::array<std::atomic<Block*>, kMostPartitions> waiting{};  ///< of a merge, its first input; 1 is the root
};

class RequestRun::MergeTask final : public runtime::MxTask {
 public:
  MergeTask(const runtime::TaskClass* task_class, RequestRun& run, Request& request, unsigned place,
            Block* one, Block* other) noexcept
      : MxTask(task_class), run_(&run), request_(&request), place_(place), one_(one), other_(other) {
    annotate(runtime::locality::immediate);
  }
  step execute(Worker& worker) {
    bool remote = false;
    run_->read(worker, *one_, run_->options_.block_bytes, remote);
    run_->read(worker, *other_, run_->options_.block_bytes, remote);
    Block* merged = run_->make(worker);
    run_->release(worker, one_);
    run_->release(worker, other_);
    run_->end_step(worker, remote);
    run_->partition_done(worker, *request_, place_, merged);
    return step::done;
  }

 private:
  RequestRun* run_;
  Request* request_;
  unsigned place_;
  Block* one_;
  Block* other_;
};

class RequestRun::StageTask final : public runtime::MxTask {
 public:
  StageTask(const runtime::TaskClass* task_class, RequestRun& run, Request& request, unsigned partition,
            Block* block) noexcept
      : MxTask(task_class), run_(&run), request_(&request), partition_(partition), block_(block) {
    annotate(runtime::locality::immediate);
  }
  step execute(Worker& worker) {
    bool remote = false;
    run_->read(worker, *block_, run_->options_.block_bytes, remote);
    Block* next = run_->make(worker);
    run_->release(worker, std::exchange(block_, next));
    run_->end_step(worker, remote);
    if (++stage_ < run_->options_.shape.stages) {
      annotate(runtime::locality::immediate);
      worker.spawn(this);
      return step::parked;
    }
    const bool last = request_->blocks_left[partition_].fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (last) {
      run_->partition_done(worker, *request_, run_->options_.shape.partitions + partition_, block_);
    } else {
      run_->release(worker, block_);
    }
    return step::done;
  }

 private:
  RequestRun* run_;
  Request* request_;
  unsigned partition_;
  unsigned stage_ = 0;
  Block* block_;
};

class RequestRun::PartitionTask final : public runtime::MxTask {
 public:
  PartitionTask(const runtime::TaskClass* task_class, RequestRun& run, Request& request, unsigned partition)
      : MxTask(task_class), run_(&run), request_(&request), partition_(partition) {
    annotate(runtime::deferred{request.id});
  }
  step execute(Worker& worker) {
    const RequestShape& shape = run_->options_.shape;
    bool remote = false;
    if (shape.inputs == 0) {
      run_->read(worker, *request_->inputs.front(),
                 run_->options_.block_bytes / shape.partitions / shape.blocks, remote);
    } else {
      run_->read(worker, *request_->inputs[partition_ * shape.inputs + emitted_ % shape.inputs],
                 run_->options_.block_bytes, remote);
    }
    Block* block = run_->make(worker);
    run_->end_step(worker, remote);
    const bool more = ++emitted_ < shape.blocks;
    if (more) {  // spawned before the block's task, which is then the youngest
      annotate(runtime::locality::immediate);
      worker.spawn(this);
    }
    worker.spawn(worker.create<StageTask>(*run_, *request_, partition_, block));
    return more ? step::parked : step::done;
  }

 private:
  RequestRun* run_;
  Request* request_;
  unsigned partition_;
  unsigned emitted_ = 0;
};

class RequestRun::OperatorTask final : public runtime::MxTask {
 public:
  OperatorTask(const runtime::TaskClass* task_class, RequestRun& run, Request& request,
               unsigned which) noexcept
      : MxTask(task_class), run_(&run), request_(&request), which_(which) {
    annotate(runtime::locality::immediate);
  }
  step execute(Worker& worker) {
    Operator& own = request_->chain[which_];
    bool remote = false;
    Block* const in = take(own);
    if (in != nullptr) {
      run_->read(worker, *in, run_->options_.block_bytes, remote);
    }
    while (own.state.size() < run_->options_.shape.state) {
      own.state.push_back(run_->make(worker));
    }
    if (!own.state.empty()) {
      run_->read(worker, *static_cast<Block*>(own.state[own.ended % own.state.size()]),
                 run_->options_.block_bytes, remote);
    }
    Block* const out = run_->make(worker);
    if (in != nullptr) {
      run_->release(worker, in);
    }
    run_->end_step(worker, remote);
    const bool last = which_ + 1 == request_->chain.size();
    if (last) {
      run_->release(worker, out);
    } else {
      Operator& next = request_->chain[which_ + 1];
      const std::scoped_lock lock{next.latch};
      next.queue.push_back(out);
    }
    bool all = false;
    {
      const std::scoped_lock lock{own.latch};
      own.scheduled = false;
      all = ++own.ended == run_->options_.shape.blocks;
    }
    if (all) {
      for (void* const block : std::exchange(own.state, {})) {
        run_->release(worker, static_cast<Block*>(block));
      }
    }
    // The youngest task reads the block that was just written.
    if (which_ > 0) {
      run_->wake(worker, *request_, which_ - 1);
    }
    run_->wake(worker, *request_, which_);
    if (!last) {
      run_->wake(worker, *request_, which_ + 1);
    }
    if (request_->chain_tasks.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // no operator has work left
      run_->request_done(worker, *request_);
    }
    return step::done;
  }

 private:
  [[nodiscard]] static Block* take(Operator& from) {
    const std::scoped_lock lock{from.latch};
    if (from.to_emit > 0) {
      --from.to_emit;
      return nullptr;
    }
    auto* const block = static_cast<Block*>(from.queue.front());
    from.queue.pop_front();
    return block;
  }

  RequestRun* run_;
  Request* request_;
  unsigned which_;
};

class RequestRun::StartTask final : public runtime::MxTask {
 public:
  StartTask(const runtime::TaskClass* task_class, RequestRun& run, runtime::RequestId id)
      : MxTask(task_class), run_(&run), id_(id) {
    annotate(runtime::deferred{id});
  }
  step execute(Worker& worker) {
    const RequestShape& shape = run_->options_.shape;
    auto* request = std::make_unique<Request>(shape.operators).release();  // request_done() takes it back
    request->id = id_;
    if (shape.operators > 0) {
      request->chain.front().to_emit = shape.blocks;
      run_->end_step(worker, false);
      run_->wake(worker, *request, 0);
      return step::done;
    }
    for (unsigned i = 0; i < std::max(1U, shape.partitions * shape.inputs); ++i) {
      request->inputs.push_back(run_->make(worker));
    }
    request->partitions_left.store(shape.partitions, std::memory_order_relaxed);
    for (unsigned i = 0; i < shape.partitions; ++i) {
      request->blocks_left[i].store(shape.blocks, std::memory_order_relaxed);
    }
    run_->end_step(worker, false);
    for (unsigned i = 0; i < shape.partitions; ++i) {
      worker.spawn(worker.create<PartitionTask>(*run_, *request, i));
    }
    return step::done;
  }

 private:
  RequestRun* run_;
  runtime::RequestId id_;
};

RequestRun::RequestRun(runtime::Runtime& runtime, const Options& options)
    : runtime_(runtime), options_(options), counts_(runtime.worker_count()) {}

void RequestRun::begin() {
  const std::uint64_t first = std::min(options_.at_once, options_.requests);
  started_.store(first, std::memory_order_relaxed);
  for (std::uint64_t i = 0; i < first; ++i) {
    auto* task = runtime_.create_outside<StartTask>(*this, runtime_.new_request());
    const auto worker = static_cast<std::uint16_t>(i * runtime_.worker_count() / first);
    static_cast<void>(runtime_.submit(task, runtime::WorkerId{worker}));  // no place, nothing to be wrong
  }
}

RequestRun::Counts RequestRun::sum() const noexcept {
  Counts all;
  for (const Counts& one : counts_) {
    all.steps += one.steps;
    all.remote_steps += one.remote_steps;
    all.bytes += one.bytes;
    all.remote_bytes += one.remote_bytes;
  }
  return all;
}

RequestRun::Block* RequestRun::make(Worker& worker) {
  const std::size_t bytes = options_.touch ? options_.block_bytes : sizeof(Block);
  void* memory =
      options_.source == block_source::malloc ? std::malloc(bytes) : worker.items().allocate(bytes);
  if (memory == nullptr) {
    std::abort();  // without memory there is no measurement
  }
  auto* block = new (memory) Block{.node = worker.node(), .seed = worker.random()()};
  if (options_.machine != nullptr) {
    options_.machine->write(worker.id().index(), block, options_.block_bytes);
  }
  if (options_.touch) {
    std::uint64_t value = block->seed;
    for (std::uint64_t& word : block->words(options_.block_bytes)) {
      word = value++;
    }
  }
  return block;
}

void RequestRun::release(Worker& worker, Block* block) noexcept {
  if (options_.source == block_source::malloc) {
    std::free(block);
  } else {
    worker.items().release(block);
  }
}

void RequestRun::read(Worker& worker, const Block& block, std::size_t bytes, bool& remote) noexcept {
  Counts& counts = counts_[worker.id().index()];
  counts.bytes += bytes;
  if (block.node != worker.node()) {
    remote = true;
    counts.remote_bytes += bytes;
  }
  if (options_.machine != nullptr) {
    options_.machine->read(worker.id().index(), &block, block.node, bytes);
  }
  if (options_.touch) {
    std::uint64_t sum = 0;
    for (const std::uint64_t word :
         block.words(options_.block_bytes).first(bytes / sizeof(std::uint64_t) / 2)) {
      sum += word;
    }
    checksum_.store(checksum_.load(std::memory_order_relaxed) ^ sum, std::memory_order_relaxed);
  }
}

void RequestRun::end_step(Worker& worker, bool remote) noexcept {
  Counts& counts = counts_[worker.id().index()];
  ++counts.steps;
  counts.remote_steps += remote ? 1 : 0;
}

// `place` in the tournament of merges: partition i is place partitions + i, its parent place / 2, the root 1.
void RequestRun::partition_done(Worker& worker, Request& request, unsigned place, Block* result) {
  if (options_.shape.merge && place > 1) {
    Block* other = request.waiting[place / 2].exchange(result, std::memory_order_acq_rel);
    if (other != nullptr) {
      worker.spawn(worker.create<MergeTask>(*this, request, place / 2, other, result));
    }
    return;
  }
  release(worker, result);
  const unsigned gone = options_.shape.merge ? options_.shape.partitions : 1;
  if (request.partitions_left.fetch_sub(gone, std::memory_order_acq_rel) == gone) {
    for (Block* const input : request.inputs) {
      release(worker, input);
    }
    request_done(worker, request);
  }
}

void RequestRun::wake(Worker& worker, Request& request, unsigned which) {
  if (which + 1 < request.chain.size()) {
    Operator& next = request.chain[which + 1];
    const std::scoped_lock lock{next.latch};
    if (next.queue.size() >= kMostQueued) {
      return;  // the successor wakes this operator when it has taken a block
    }
  }
  Operator& own = request.chain[which];
  {
    const std::scoped_lock lock{own.latch};
    if (own.scheduled || (own.queue.empty() && own.to_emit == 0)) {
      return;
    }
    own.scheduled = true;
  }
  request.chain_tasks.fetch_add(1, std::memory_order_relaxed);
  worker.spawn(worker.create<OperatorTask>(*this, request, which));
}

void RequestRun::request_done(Worker& worker, Request& request) noexcept {
  const std::unique_ptr<Request> ended{&request};
  if (started_.fetch_add(1, std::memory_order_relaxed) < options_.requests) {
    worker.spawn(worker.create<StartTask>(*this, runtime_.new_request()));
  }
  finished_.fetch_add(1, std::memory_order_acq_rel);
  finished_.notify_one();
}

void RequestRun::wait() const noexcept {
  for (std::uint64_t finished = 0; finished < options_.requests;) {
    finished = finished_.load(std::memory_order_acquire);
    if (finished < options_.requests) {
      finished_.wait(finished);
    }
  }
}

double request_ms(runtime::task_order order, const RequestRun::Options& requests) {
  const runtime::Topology topology = runtime::live_topology().value();
  runtime::RuntimeOptions options;
  options.topology = std::make_shared<const runtime::Topology>(topology);
  for (const runtime::ProcessingUnit& unit : topology.pus) {
    options.workers.push_back({.pu = unit.pu, .node = unit.node, .pinned = true});
  }
  for (const runtime::NumaNode& node : topology.nodes) {
    options.os_nodes.push_back(node.os_index);
  }
  options.order = order;
  const runtime::SystemClock clock;
  runtime::Runtime machine{options, clock};
  RequestRun run{machine, requests};
  if (const auto started = machine.start(); !started.ok()) {
    throw std::runtime_error{started.error().message};
  }
  const double begin = wall_seconds();
  run.begin();
  run.wait();
  const double seconds = wall_seconds() - begin;
  machine.stop();
  return seconds * 1e3 / static_cast<double>(requests.requests);
}

}  // namespace mxkv::bench
