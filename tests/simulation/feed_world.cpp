#include "tests/simulation/feed_world.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "server/feed/herald.hpp"
#include "tests/simulation/dismissal.hpp"
#include "tests/simulation/feed_faults.hpp"
#include "tests/simulation/feed_ledger.hpp"
#include "tests/simulation/feed_watcher.hpp"
#include "tests/simulation/memory_check.hpp"
#include "tests/simulation/store_checks.hpp"
#include "tests/simulation/worker_clients.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::simulation {

namespace {

using runtime::Random;
using runtime::WorkerId;

/// NetWorker's part for the watches of one worker (server/net/worker/net_worker.cpp).
class WorkerFeed final : public WorkerRounds {
 public:
  WorkerFeed(server::MemoryLog& log, server::Herald& herald, WorkerId id)
      : log_(log), herald_(herald), id_(id) {}

  std::deque<FeedWatcher> watchers;
  bool calm = false;

  void begin_round() override {
    log_.begin_round(id_);
    if (herald_.has_news(id_.index())) {
      for (const server::WatchRef& watch : herald_.take_news(id_.index())) {
        for (FeedWatcher& watcher : watchers) {
          if (watcher.is(*watch)) {
            watcher.news();
          }
        }
      }
    }
    for (FeedWatcher& watcher : watchers) {
      calm ? watcher.take(~std::size_t{0}) : watcher.have_whim();
    }
  }
  void end_round() override { log_.end_round(id_); }
  void park() { log_.park(id_); }

 private:
  server::MemoryLog& log_;
  server::Herald& herald_;
  WorkerId id_;
};

StoreWorldOptions draw_options(Random& random) {
  StoreWorldOptions options = draw_store_world(random);
  options.world.ends_early = false;
  options.world.short_of_memory = false;
  options.quota_limits.clear();
  return options;
}

/// Thread-safety: one thread.
class FeedWorld {
 public:
  FeedWorld(std::uint64_t seed, feed_fault fault)
      : random_(seed),
        options_(draw_options(random_)),
        memory_bytes_(one_in(random_, 3) ? 200 + random_.below(20'000) : std::size_t{1} << 20U),
        keys_(options_.requests.keys, options_.requests.others, options_.requests.begin_number,
              options_.requests.long_keys),
        whims_(random_, options_, keys_, store_fault::none),
        machine_(options_.world.runtime),
        store_(machine_.runtime, options_.store),
        replies_(keys_),
        history_(keys_.begin(), true),
        stepper_(machine_.runtime, machine_.clock, random_, bells_, complaints_,
                 options_.world.interruptions_in_64, options_.world.uneven_speed),
        record_(history_, stepper_, machine_.clock),
        log_(contexts(), ledger_.relay(), machine_.clock, nullptr, draw_log(),
             {.wake = [this] { woken_ = true; }, .wake_worker = [this](std::size_t i) { bells_.ring(i); }}),
        live_(log_, fault),
        past_(log_),
        herald_(
            log_, live_, past_, machine_.clock, nullptr, draw_herald(),
            {.wake = [this] { woken_ = true; }, .wake_worker = [this](std::size_t i) { bells_.ring(i); }}) {
    store_.tree().commits().listen(&ledger_);
    ledger_.set_epochs(&log_.epochs());
    log_.waits = fault != feed_fault::no_waits;
    whims_.set_world(store_, stepper_, record_);
    bells_.rung.resize(workers());
    for (std::size_t i = 0; i < workers(); ++i) {
      const WorkerId id{static_cast<std::uint16_t>(i)};
      pollers_.emplace_back(bells_, machine_[i], store_, replies_, record_, whims_, random_, options_);
      machine_[i].set_poller(pollers_.back());
      feeds_.emplace_back(log_, herald_, id);
      pollers_.back().set_rounds(feeds_.back());
      for (std::uint64_t watchers = 1 + random_.below(3); watchers > 0; --watchers) {
        feeds_.back().watchers.emplace_back(ledger_, keys_, random_, i, complaints_, report_);
        feeds_.back().watchers.back().connect(herald_, log_.epochs());
      }
    }
    fill();
    for (WorkerClients& clients : pollers_) {
      clients.set_left(options_.operations / workers() + 1);
    }
    stepper_.set_aside([this] { perhaps_step_herald(); });
    stepper_.set_parks([this](std::size_t i) {
      feeds_[i].park();
      return true;
    });
  }
  FeedWorld(const FeedWorld&) = delete;
  FeedWorld& operator=(const FeedWorld&) = delete;
  ~FeedWorld() { dismiss(machine_, store_, nobody_, pollers_); }

  FeedReport run() {
    run_rounds();
    if (complaints_.empty()) {
      hear_all();
    }
    if (complaints_.empty()) {
      switch_off();
    }
    return end();
  }

 private:
  static constexpr std::uint64_t kMostRounds = 2'000'000;
  static constexpr std::size_t kMostFrame = server::Frame::kBytes + 1'000;
  static constexpr std::uint64_t kUnrest = 4'000;
  static constexpr std::uint64_t kRoundsToHear = 20'000;

  [[nodiscard]] std::size_t workers() const noexcept { return options_.world.runtime.workers.size(); }
  [[nodiscard]] std::vector<void*> contexts() {
    std::vector<void*> contexts;
    for (std::size_t i = 0; i < workers(); ++i) {
      contexts.push_back(&machine_[i]);
    }
    return contexts;
  }
  [[nodiscard]] server::MemoryLogOptions draw_log() {
    return {.tag = 1 + random_.below(1'000),
            .ring_bytes = one_in(random_, 3) ? 500 + random_.below(8'000) : std::size_t{1} << 20U,
            .value_bytes = random_.below(64),
            .linger_ns = random_.below(3'000'000),
            .epoch_ns = one_in(random_, 2) ? 0 : random_.below(2'000'000)};
  }
  [[nodiscard]] server::HeraldOptions draw_herald() {
    return {.workers = workers(),
            .memory_bytes = memory_bytes_,
            .value_bytes = 64,
            .mark_ns = 1'000'000 + random_.below(20'000'000)};
  }

  /// Before anything is watched.
  void fill() {
    for (StoreRequest& request : whims_.requests().first_requests()) {
      pollers_.front().ask(std::move(request));
    }
    while (!pollers_.front().idle()) {
      for (std::size_t i = 0; i < workers(); ++i) {
        machine_[i].step();
      }
    }
  }
  void perhaps_step_herald() {
    if (one_in(random_, 3)) {
      step_herald();
    }
  }
  // The herald is a thread of its own: it never runs twice at once.
  void step_herald() {
    const std::uint64_t now_ns = machine_.clock.monotonic_ns();
    if (!std::exchange(woken_, false) && now_ns < next_ns_) {
      return;
    }
    const bool was_off = log_.is_off();
    next_ns_ = herald_.step(now_ns);
    complaints_.unless(herald_.unread_bytes(server::held::live) <= memory_bytes_ / 2,
                       "live watches hold more than their half of the memory");
    complaints_.unless(herald_.unread_bytes(server::held::behind) <= memory_bytes_ / 2 + kMostFrame,
                       "watches that are behind hold more than their half of the memory");
    report_.switches += was_off && !log_.is_off() ? 1 : 0;
  }

  void run_rounds() {
    for (std::uint64_t round = 0; round < kMostRounds && complaints_.empty() && !finished(); ++round) {
      if (!stepper_.go_on()) {
        machine_.clock.advance_us(1'000);
        for (std::size_t i = 0; i < workers(); ++i) {
          bells_.ring(i);
        }
      }
      perhaps_step_herald();
      if (one_in(random_, 48)) {
        machine_.clock.advance_us(random_.below(one_in(random_, 20) ? 1'500'000 : 2'000));
      }
      if (round > kUnrest) {
        stepper_.calm_down();
      }
    }
    stepper_.calm_down();
  }
  [[nodiscard]] bool finished() const {
    return whims_.finished() &&
           std::ranges::all_of(pollers_, [](const WorkerClients& clients) { return clients.idle(); });
  }
  void step_all() {
    for (std::size_t i = 0; i < workers(); ++i) {
      bells_.ring(i);
    }
    for (std::size_t i = 0; i < 4 * workers(); ++i) {
      static_cast<void>(stepper_.go_on());
    }
    machine_.clock.advance_us(500);
    step_herald();
  }

  /// Each watch asks for a last mark, and hears it.
  void hear_all() {
    for (WorkerFeed& feed : feeds_) {
      feed.calm = true;
      for (FeedWatcher& watcher : feed.watchers) {
        if (!watcher.watches()) {
          watcher.begin();
        }
        watcher.ask_for_mark();
      }
    }
    const auto satisfied = [this] {
      return std::ranges::all_of(feeds_, [](const WorkerFeed& feed) {
        return std::ranges::all_of(feed.watchers, [](const FeedWatcher& each) { return each.satisfied(); });
      });
    };
    for (std::uint64_t round = 0; round < kRoundsToHear && !satisfied() && complaints_.empty(); ++round) {
      step_all();
    }
    complaints_.unless(satisfied(), "a watch never hears what it asked for");
  }
  void switch_off() {
    for (WorkerFeed& feed : feeds_) {
      for (FeedWatcher& watcher : feed.watchers) {
        if (watcher.watches()) {
          watcher.leave();
        }
      }
    }
    for (std::uint64_t round = 0; round < kRoundsToHear && !log_.is_off(); ++round) {
      step_all();
    }
    if (!log_.is_off()) {
      complaints_.add("the log stays on although nobody watches: " +
                      std::to_string(herald_.counts().watches.load()) + " watches are counted");
    }
  }

  FeedReport end() {
    for (const WorkerFeed& feed : feeds_) {
      for (const FeedWatcher& watcher : feed.watchers) {
        watcher.count(report_);
      }
    }
    report_.falls = herald_.counts().falls.load();
    report_.old = herald_.counts().old.load();
    report_.gaps = herald_.counts().gaps.load();
    for (WorkerClients& clients : pollers_) {
      clients.discard_parked();
      static_cast<void>(clients.leave());
    }
    dismiss(machine_, store_, nobody_, pollers_);
    if (complaints_.empty()) {
      store_.ghosts().fit(0);
      check_memory(machine_.runtime, store_.tree(), complaints_);
    }
    report_.fingerprint = (stepper_.steps() * 31 + random_()) * 31 + ledger_.events().size();
    report_.complaints = complaints_.all();
    if (!report_.complaints.empty()) {
      report_.complaints.push_back("the world: " + describe(options_));
    }
    return std::move(report_);
  }
  Random random_;
  StoreWorldOptions options_;
  std::size_t memory_bytes_;
  FeedReport report_;
  Complaints complaints_;
  Nobody nobody_;
  Bells bells_;
  bool woken_ = false;
  std::uint64_t next_ns_ = 0;
  StoreKeys keys_;
  StoreWhims whims_;
  runtime::testing::Machine machine_;
  server::Store store_;
  FeedLedger ledger_;
  StoreReplies replies_;
  StoreHistory history_;
  Stepper stepper_;
  StoreRecord record_;
  FeedLog log_;
  FeedSource live_;
  server::RingSource past_;
  server::Herald herald_;
  std::deque<WorkerClients> pollers_;
  std::deque<WorkerFeed> feeds_;
};

}  // namespace

void FeedReport::add(const FeedReport& other) {
  complaints.insert(complaints.end(), other.complaints.begin(), other.complaints.end());
  for (const auto member :
       {&FeedReport::watches, &FeedReport::told, &FeedReport::batches, &FeedReport::ranges,
        &FeedReport::marks, &FeedReport::falls, &FeedReport::returns, &FeedReport::later, &FeedReport::lost,
        &FeedReport::old, &FeedReport::gaps, &FeedReport::switches}) {
    this->*member += other.*member;
  }
}

FeedReport run_feed_world(std::uint64_t seed, feed_fault fault) {
  return FeedWorld{seed, fault}.run();
}

}  // namespace mxkv::simulation
