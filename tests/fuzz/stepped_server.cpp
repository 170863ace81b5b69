#include "tests/fuzz/stepped_server.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "runtime/base/clock.hpp"
#include "runtime/base/random.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/net/session/session.hpp"
#include "server/reply/worker_replies.hpp"
#include "server/store/store.hpp"
#include "tests/fuzz/owed.hpp"
#include "tests/unit/index/tree_drain.hpp"
#include "tests/unit/index/turned_leaf.hpp"

namespace mxkv::fuzz {
namespace {

using runtime::MxTask;
using runtime::Worker;
using runtime::WorkerId;
using server::pause;

constexpr std::size_t kMemoryBytes = std::size_t{8} << 20U;
constexpr std::size_t kRoomBytes = std::size_t{512} << 10U;  ///< above the memory that an empty server takes
constexpr std::size_t kHeadroom = 64;

runtime::RuntimeOptions runtime_options(const ServerPlan& plan) {
  runtime::RuntimeOptions options;
  options.workers.resize(plan.workers, runtime::WorkerPlacement{.pinned = false});
  options.memory.limit_bytes = kMemoryBytes;
  options.memory.huge_pages = runtime::huge_pages_mode::off;
  options.memory.numa_placement = false;
  options.stealing = options.order_reach = runtime::stealing_scope::off;
  return options;
}

server::StoreOptions store_options(const ServerPlan& plan, const config::LimitOptions& limits) {
  server::StoreOptions options;
  if (plan.hot_leaves) {
    options.tree.leaves_adapt = true;
    options.tree.limits = {.leaf = 4, .inner = 4};  // a leaf that is the root stays cold
  }
  options.ranges = {.items = limits.scan_items, .bytes = limits.scan_bytes, .time_ns = 5'000'000};
  options.value_bytes = limits.value_bytes;
  options.evict = plan.evicts;
  return options;
}

/// A worker's client, its session, and the poller by which they take part.
class Client final : public runtime::Poller, public server::ConnectionOwner, private server::AdminSource {
 public:
  Client(runtime::Runtime& runtime, server::Store& store, Worker& worker, const ServerPlan& plan,
         const config::LimitOptions& limits, server::Credentials* credentials, std::string_view stream)
      : worker_(worker),
        store_(store),
        replies_(worker, runtime.budget()),
        input_(runtime.budget(), worker.account(), runtime::memory_category::buffers),
        host_{worker, store, replies_.directory, input_, limits, kVersionLine, this, credentials},
        unsent_(stream),
        cuts_(plan.cuts),
        read_at_once_(plan.reads_slowly ? 100 : SIZE_MAX) {
    host_.watch_hub = &store.watch_hub();
    store.context(worker.id()).replies = &replies_.directory;
    session_.emplace(host_, *this);
  }

  /// For a failure.
  [[nodiscard]] std::string state() const {
    return ": " + std::to_string(unsent_.size()) + " bytes are not read, the session pauses for " +
           std::to_string(session_->pauses().bits()) + "; it received\n" + received_;
  }
  [[nodiscard]] bool left() const noexcept { return !session_.has_value(); }
  [[nodiscard]] const std::string& received() const noexcept { return received_; }
  [[nodiscard]] std::size_t unsent() const noexcept { return unsent_.size(); }
  [[nodiscard]] Worker& worker() noexcept { return worker_; }
  /// Operations that outlive the session; there are none at the end.
  [[nodiscard]] std::size_t entries() const noexcept { return replies_.directory.entries(); }

  bool poll(Worker& /*worker*/) override {
    ++host_.turn;
    if (!session_) {
      return false;
    }
    const bool had_turn = session_->pauses().has(pause::turn | pause::memory);
    if (had_turn) {
      session_->resume();
    }
    const bool reads = session_->wants_input() && !ended_;
    if (reads) {
      read();
    }
    return had_turn || reads;
  }

  bool end_turn(Worker& worker) override {
    store_.maintain(worker);
    bool any = false;
    while (replies_.directory.next_dirty() != nullptr) {
      any = true;
    }
    if (!session_ || (!any && session_->output().unsent_bytes() == 0 && !session_->finished())) {
      return any;
    }
    take_replies();
    if (session_->paused_for(pause::output)) {
      session_->resume();
    }
    session_->end_round();
    if (session_->paused_for(pause::page_room) && host_.has_page_room()) {
      host_.starved.clear();
      session_->give_room();
    }
    if (session_->finished() && session_->output().unsent_bytes() == 0) {
      session_.reset();
    }
    return true;
  }

  void block(Worker& /*worker*/, std::uint64_t /*timeout_ns*/) override {}
  void wake() noexcept override {}

  void resume() override {
    if (session_) {
      session_->resume();
      replies_.directory.mark_dirty(session_->entry());
    }
  }

 private:
  std::string run(const protocol::Request& request, server::AdminCursor& /*cursor*/) override {
    if (request.op == protocol::verb::cache_memlimit) {  // here in KiB, above the used memory
      runtime::MemoryBudget& budget = worker_.runtime().budget();
      const std::size_t room = static_cast<std::size_t>(std::min(request.mebibytes, 4096U)) << 10U;
      budget.set_limit_bytes(std::min(budget.used_bytes() + room, kMemoryBytes));
    }
    return administer(request);
  }

  std::size_t piece() {
    if (cuts_ == 0 || cuts_ == ~std::uint32_t{0}) {
      return cuts_ == 0 ? 1 : SIZE_MAX;
    }
    cuts_ = cuts_ * 1664525U + 1013904223U;
    return (cuts_ >> 31U) != 0 ? (cuts_ >> 28U & 7U) + 1 : (cuts_ >> 22U & 511U) + 1;
  }

  void read() {
    if (unsent_.empty()) {
      ended_ = true;
      session_->end_of_input();
      replies_.directory.mark_dirty(session_->entry());
      return;
    }
    std::size_t bytes = std::min(piece(), unsent_.size());
    const std::span<char> space = session_->value_space();
    const std::size_t direct = std::min(space.size(), bytes);
    if (direct > 0) {
      unsent_.copy(space.data(), direct);
      unsent_.remove_prefix(direct);
      session_->received_value(direct);
      bytes -= direct;
    }
    if (bytes > 0) {
      bytes = std::min(bytes, std::size_t{16} << 10U);
      // Of exactly the announced size, so that a sanitizer sees a step too far.
      const auto buffer = std::make_unique<char[]>(kHeadroom + bytes);
      unsent_.copy(buffer.get() + kHeadroom, bytes);
      unsent_.remove_prefix(bytes);
      session_->receive(buffer.get() + kHeadroom, bytes, kHeadroom);
    }
    replies_.directory.mark_dirty(session_->entry());
  }

  void take_replies() {
    std::array<iovec, 3> pieces;
    server::OutputBuffer& output = session_->output();
    for (std::size_t left = read_at_once_; left > 0;) {
      const std::size_t count = output.gather(pieces);
      if (count == 0) {
        return;
      }
      for (std::size_t i = 0; i < count && left > 0; ++i) {
        const std::size_t taken = std::min(pieces[i].iov_len, left);
        received_.append(static_cast<const char*>(pieces[i].iov_base), taken);
        output.consume(taken);
        left -= taken;
        if (taken < pieces[i].iov_len) {
          return;
        }
      }
    }
  }

  Worker& worker_;
  server::Store& store_;
  server::WorkerReplies replies_;
  server::BlockPool input_;
  server::SessionHost host_;
  std::string_view unsent_;
  std::uint32_t cuts_;
  std::size_t read_at_once_;
  bool ended_ = false;
  std::string received_;
  std::optional<server::Session> session_;
};

/// Tells a worker that its client watches.
class WatchTask final : public MxTask {
 public:
  static constexpr const char* kName = "something to watch";
  WatchTask(const runtime::TaskClass* task_class, Client& client) noexcept
      : MxTask(task_class), client_(client) {}
  runtime::step execute(Worker& /*worker*/) {
    client_.resume();
    return runtime::step::done;
  }

 private:
  Client& client_;
};

/// Takes the place of clients that have gone.
class Nobody final : public runtime::Poller {
 public:
  bool poll(Worker& /*worker*/) override { return false; }
  bool end_turn(Worker& /*worker*/) override { return false; }
  void block(Worker& /*worker*/, std::uint64_t /*timeout_ns*/) override {}
  void wake() noexcept override {}
};

class SteppedServer {
 public:
  SteppedServer(std::string_view stream, const ServerPlan& plan, server::Credentials* credentials)
      : plan_(plan),
        limits_(limits_of(plan)),
        runtime_(runtime_options(plan), clock_),
        store_(runtime_, store_options(plan, limits_)) {
    for (std::size_t i = 0; i < plan.workers; ++i) {
      Worker& worker = runtime_.worker(WorkerId{static_cast<std::uint16_t>(i)});
      Client& client = clients_.emplace_back(runtime_, store_, worker, plan, limits_, credentials, stream);
      worker.set_poller(client);
      store_.watch_hub().add_waker({&client, [](void* context, Worker& from) {
                                      auto& to = *static_cast<Client*>(context);
                                      auto* const task = from.create<WatchTask>(to);
                                      task->annotate(to.worker().id());
                                      from.spawn(task);
                                    }});
    }
    if (plan.short_of_memory) {
      runtime_.budget().set_limit_bytes(runtime_.budget().used_bytes() + kRoomBytes);
    }
  }

  SteppedServer(const SteppedServer&) = delete;
  SteppedServer& operator=(const SteppedServer&) = delete;
  ~SteppedServer() { dismiss_clients(); }

  Served run() {
    constexpr std::size_t kMostRounds = 300'000;
    Served served;
    bool moves = true;
    std::size_t rounds = 0;
    std::size_t quiet = 0;
    std::size_t bytes = 0;
    while (moves && rounds < kMostRounds) {
      moves = step();
      ++rounds;
      const std::size_t before = std::exchange(bytes, moved_bytes());
      quiet = before == bytes ? quiet + 1 : 0;
      if (quiet > kMostQuiet) {
        clock_.advance_us(10'000);  // a request waits for memory, for some seconds at most
      }
    }
    for (const Client& client : clients_) {
      served.replies.push_back(client.received());
      if (!client.left()) {
        served.wrong = rounds == kMostRounds ? "never comes to rest" : "everybody waits, and a client too";
        served.wrong += client.state();
      }
    }
    if (served.wrong.empty()) {
      served.wrong = judge_end();
    }
    return served;
  }

 private:
  static constexpr std::size_t kMostQuiet = 100;  ///< rounds in which no byte moves, before time passes

  [[nodiscard]] std::size_t moved_bytes() const {
    std::size_t sum = 0;
    for (const Client& client : clients_) {
      sum += client.received().size() - client.unsent();
    }
    return sum;
  }
  /// A round of each worker. False: no worker did anything.
  bool step() {
    bool moves = false;
    if (plan_.hot_leaves) {
      index::testing::turn_some_leaf(store_.tree(), random_, runtime_.worker(WorkerId{0}));
    }
    for (Client& client : clients_) {
      moves = client.worker().step() || moves;
    }
    if (plan_.evicts && std::ranges::any_of(clients_, [](const Client& client) { return !client.left(); })) {
      clock_.advance_us(10'000);
      return true;
    }
    return moves;
  }

  /// Tasks that are left refer to the clients, and these to the runtime.
  void dismiss_clients() {
    runtime_.drain_stopped();
    for (Client& client : clients_) {
      client.worker().set_poller(nobody_);
    }
    clients_.clear();
  }

  /// Checks that nothing is left once all clients have gone.
  std::string judge_end() {
    for (const Client& client : clients_) {
      if (client.entries() != 0) {
        return "operations outlive the last step";
      }
    }
    runtime_.budget().set_limit_bytes(kMemoryBytes);
    dismiss_clients();
    index::testing::drain(store_.tree(), runtime_);
    const index::testing::LiveBytes left = index::testing::live_bytes(runtime_);
    if (left.items != 0 || left.nodes != 0) {
      return std::to_string(left.items) + " bytes of items and " + std::to_string(left.nodes) +
             " of nodes were lost";
    }
    for (const auto category : {runtime::memory_category::output, runtime::memory_category::buffers,
                                runtime::memory_category::retired}) {
      if (runtime_.budget().category_bytes(category) != 0) {
        return "category " + std::to_string(static_cast<int>(category)) + " is charged with " +
               std::to_string(runtime_.budget().category_bytes(category)) + " bytes";
      }
    }
    return {};
  }

  ServerPlan plan_;
  config::LimitOptions limits_;
  runtime::ManualClock clock_;
  Nobody nobody_;
  runtime::Random random_{1};
  runtime::Runtime runtime_;
  server::Store store_;
  std::deque<Client> clients_;
};

}  // namespace

config::LimitOptions limits_of(const ServerPlan& plan) {
  config::LimitOptions limits;
  limits.value_bytes = std::size_t{64} << 10U;
  limits.get_line_bytes = std::size_t{4} << 10U;
  if (plan.small_limits) {
    limits.requests_per_turn = 3;
    limits.pipeline = 4;
    limits.output_high_water = 200;
    limits.scan_items = 2;
    limits.scan_bytes = 2000;
    limits.batch_lines = 4;
    limits.batch_bytes = 600;
  }
  return limits;
}

Served serve(std::string_view stream, const ServerPlan& plan, server::Credentials* credentials) {
  return SteppedServer{stream, plan, credentials}.run();
}

}  // namespace mxkv::fuzz
