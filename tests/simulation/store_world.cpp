#include "tests/simulation/store_world.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "tests/simulation/dismissal.hpp"
#include "tests/simulation/interference.hpp"
#include "tests/simulation/memory_check.hpp"
#include "tests/simulation/store_checks.hpp"
#include "tests/simulation/store_progress.hpp"
#include "tests/simulation/worker_clients.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::simulation {

namespace {

using runtime::Worker;
using runtime::WorkerId;

/// Thread-safety: one thread.
class StoreWorld {
 public:
  StoreWorld(std::uint64_t seed, store_fault what)
      : random_(seed),
        options_(draw_store_world(random_)),
        keys_(options_.requests.keys, options_.requests.others, options_.requests.begin_number,
              options_.requests.long_keys),
        whims_(random_, options_, keys_, what),
        machine_(options_.world.runtime),
        store_(machine_.runtime, options_.store),
        replies_(keys_),
        history_(keys_.begin(), options_.store.evict || options_.evicts),
        stepper_(machine_.runtime, machine_.clock, random_, bells_, complaints_,
                 options_.world.interruptions_in_64, options_.world.uneven_speed),
        record_(history_, stepper_, machine_.clock),
        progress_(machine_.runtime, store_),
        interference_(machine_.runtime, machine_.clock, store_.tree(), random_,
                      options_.world.short_of_memory) {
    whims_.set_world(store_, stepper_, record_);
    most_rounds_ = what == store_fault::none ? kMostRounds : kMostOfMistaken;
    if (options_.world.short_of_memory) {
      record_.expect_failures();
    }
    if (what == store_fault::half_batch) {
      record_.lie();
    }
    bells_.rung.resize(workers());
    for (std::size_t i = 0; i < workers(); ++i) {
      pollers_.emplace_back(bells_, machine_[i], store_, replies_, record_, whims_, random_, options_);
      machine_[i].set_poller(pollers_.back());
    }
    fill();
    store_.set_quotas(options_.quota_limits);
    for (std::size_t i = 0; i < workers(); ++i) {
      pollers_[i].set_left(options_.operations / workers() + 1);
    }
  }
  StoreWorld(const StoreWorld&) = delete;
  StoreWorld& operator=(const StoreWorld&) = delete;
  ~StoreWorld() { dismiss(machine_, store_, nobody_, pollers_); }

  StoreReport run() {
    const std::uint64_t last = options_.world.ends_early ? random_.below(400) : most_rounds_;
    run_rounds(last);
    if (complaints_.empty() && !options_.world.ends_early) {
      look_once_more();
    }
    return end();
  }

 private:
  static constexpr std::uint64_t kMostRounds = 2'000'000;
  static constexpr std::uint64_t kMostOfMistaken = 30'000;  ///< a mistake that hangs need not hang for long
  static constexpr std::uint64_t kUnrest = 6'000;
  static constexpr std::uint64_t kMostTides = 6;
  static constexpr std::uint64_t kCountEvery = 61;  ///< rounds between two counts of all items

  [[nodiscard]] std::size_t workers() const noexcept { return options_.world.runtime.workers.size(); }

  /// Before anything is recorded.
  void fill() {
    for (StoreRequest& request : whims_.requests().first_requests()) {
      pollers_.front().ask(std::move(request));
    }
    while (!pollers_.front().idle()) {
      step_all();
    }
  }
  void step_all() {
    for (std::size_t i = 0; i < workers(); ++i) {
      machine_[i].step();
    }
  }

  void run_rounds(std::uint64_t last) {
    bool moves = true;
    std::uint64_t round = 0;
    progress_.begin_anew();
    while (moves && round < last && complaints_.empty()) {
      moves = stepper_.go_on();
      if (round % kCountEvery == 0) {
        check_counts(store_, complaints_);
      }
      if (stepper_.calm() && !progress_.look(record_.ended())) {
        complain_of_standstill();
      }
      if (++round < kUnrest && !finished()) {
        interfere();
      } else {
        become_calm();
      }
    }
    become_calm();
    if (options_.world.ends_early || !complaints_.empty()) {
      return;
    }
    complaints_.unless(round < last, "the workers never come to rest");
    complaints_.unless(finished(), "something waits though everybody sleeps");
  }
  void complain_of_standstill() {
    std::string text = finished() ? "nothing is asked for, and tasks go on: " : "nothing gets on: ";
    text += progress_.describe();
    for (const WorkerClients& clients : pollers_) {
      text += clients.describe_waiting();
    }
    complaints_.add(text);
  }
  [[nodiscard]] bool finished() const {
    return whims_.finished() && std::all_of(pollers_.begin(), pollers_.end(),
                                            [](const WorkerClients& clients) { return clients.idle(); });
  }
  void become_calm() {
    stepper_.calm_down();
    interference_.end();
    taken_.give_back();
  }

  void interfere() {
    interference_.interfere();
    switch (random_.below(48)) {
      case 0:
        machine_.clock.advance_us(random_.below(1'500'000));
        break;
      case 1:
        if (options_.stalls) {
          stepper_.stall(random_.below(workers()), random_.below(one_in(random_, 4) ? 800 : 60));
        }
        break;
      case 2:
        // The memory left in the heaps: the budget gives no more while it is 0.
        if (options_.world.short_of_memory && machine_.runtime.budget().limit_bytes() == 0) {
          for (const std::size_t bytes : {24U, 32U, 40U, 48U}) {
            taken_.take(machine_[random_.below(workers())].items(), bytes, random_.below(3));
          }
        }
        break;
      case 3:
      case 4:
        taken_.give_back();
        break;
      case 5:
        // Behind the time of a sweep, so that there is one.
        if (options_.tides && tides_ < kMostTides && one_in(random_, 4)) {
          ++tides_;
          machine_.clock.advance_us(50'000'000 + random_.below(60'000'000));
        }
        break;
      default:
        break;
    }
  }

  // --- The end ---

  /// Looks at the contents once all is quiet. Waits for whatever holds keys.
  void look_once_more() {
    pollers_.front().ask(whims_.requests().last_request());
    bells_.ring(0);
    run_rounds(most_rounds_);
  }

  StoreReport end() {
    StoreReport report;
    bool all_ended = true;
    for (WorkerClients& clients : pollers_) {
      if (options_.world.ends_early) {
        clients.discard_parked();
      }
      all_ended = clients.leave() && all_ended;
    }
    count(report);
    if (complaints_.empty() && !options_.world.ends_early) {
      complaints_.unless(all_ended, "operations outlive their clients");
      check_locks(store_, machine_.runtime, complaints_);
    }
    dismiss(machine_, store_, nobody_, pollers_);
    if (complaints_.empty()) {
      complaints_.unless(replies_.nonsense().empty(), ("not understood: " + replies_.nonsense()).c_str());
      check_history(history_, options_, report, complaints_);
    }
    check_items(store_, history_, options_, report, complaints_);
    check_counts(store_, complaints_);
    if (!options_.world.ends_early) {
      ledger_.check(machine_.clock.steady_us(machine_.clock.monotonic_ns()), complaints_);
    }
    report.changes = ledger_.changes();
    store_.ghosts().fit(0);
    check_memory(machine_.runtime, store_.tree(), complaints_);
    report.by_address = options_.store.evict;
    report.fingerprint = (stepper_.steps() * 31 + random_()) * 31 + history_.size();
    for (const std::string& complaint : complaints_.all()) {
      report.complaints.push_back(complaint);
    }
    if (!report.complaints.empty()) {
      report.complaints.push_back("the world: " + describe(options_));
    }
    return report;
  }

  void count(StoreReport& report) {
    const runtime::ToggleStats toggle = store_.locks().toggle.stats();
    report.parked_writes = store_.locks().gate.parked();
    report.of_many_buckets = toggle.of_many;
    report.in_inner_mode = toggle.inner;
    report.followed = toggle.followed;
    report.shared = toggle.shared;
    report.maps = whims_.maps() + store_.total(server::counter::slot_maps);
    report.slots = store_.locks().slots.count();
    report.moved = store_.total(server::counter::items_moved);
    report.evicted = store_.total(server::counter::evictions);
    report.reclaimed = store_.total(server::counter::reclaimed);
    report.swept = store_.total(server::counter::swept_items);
    report.preempted = whims_.preempted();
    report.interruptions = stepper_.interruptions();
    report.longest_standstill = progress_.longest();
  }

  runtime::Random random_;
  StoreWorldOptions options_;
  Complaints complaints_;
  Bells bells_;
  Nobody nobody_;
  StoreKeys keys_;
  StoreWhims whims_;
  runtime::testing::Machine machine_;
  server::Store store_;
  StoreLedger ledger_{store_};
  StoreReplies replies_;
  StoreHistory history_;
  Stepper stepper_;
  StoreRecord record_;
  StoreProgress progress_;
  Interference<server::ItemTraits> interference_;
  index::testing::TakenBlocks taken_;
  std::deque<WorkerClients> pollers_;
  std::uint64_t most_rounds_ = 0;
  std::uint64_t tides_ = 0;
};

}  // namespace

void StoreReport::add(const StoreReport& other) {
  complaints.insert(complaints.end(), other.complaints.begin(), other.complaints.end());
  fingerprint = fingerprint * 1'000'003 + other.fingerprint;
  changes.add(other.changes);
  for (const auto member :
       {&StoreReport::recorded,       &StoreReport::given_up,        &StoreReport::batches,
        &StoreReport::failed_batches, &StoreReport::refused_lines,   &StoreReport::refused_batches,
        &StoreReport::refused_midway, &StoreReport::refused_touches, &StoreReport::pages,
        &StoreReport::counts,         &StoreReport::erased,          &StoreReport::touched,
        &StoreReport::cut_off,        &StoreReport::parked_writes,   &StoreReport::of_many_buckets,
        &StoreReport::in_inner_mode,  &StoreReport::followed,        &StoreReport::shared,
        &StoreReport::maps,           &StoreReport::slots,           &StoreReport::deep_trees,
        &StoreReport::moved,          &StoreReport::evicted,         &StoreReport::reclaimed,
        &StoreReport::swept,          &StoreReport::preempted,       &StoreReport::interruptions}) {
    this->*member += other.*member;
  }
  longest_standstill = std::max(longest_standstill, other.longest_standstill);
}

StoreReport run_store_world(std::uint64_t seed, store_fault what) {
  return StoreWorld{seed, what}.run();
}

}  // namespace mxkv::simulation
