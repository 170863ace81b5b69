#include "tests/simulation/durable_world.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "tests/simulation/durable_life.hpp"
#include "tests/simulation/store_checks.hpp"

namespace mxkv::simulation {

namespace {

using test::SimStep;

constexpr std::uint64_t kBeginUs = 1'700'001'000'000'000;

/// Thread-safety: one thread.
class DurableWorld {
 public:
  DurableWorld(std::uint64_t seed, durable_mistake mistake)
      : random_(seed ^ 0xD15C'0000U),
        options_(draw_durable_world(random_)),
        disk_(seed),
        keys_(options_.store.requests.keys, options_.store.requests.others,
              options_.store.requests.begin_number, options_.store.requests.long_keys) {
    options_.mistake = mistake;
    reader_ = std::make_unique<DurableReader>(seed ^ 0xFEED'0000U, mistake, complaints_, report_);
    watchers_ =
        std::make_unique<DurableWatchers>(seed ^ 0x3A7C'0000U, mistake, keys_, complaints_, report_.watches);
    disk_.on_step([this](const SimStep& step) { look_at(step); });
  }

  DurableReport run() {
    disk_.write_short(random_.below(2) == 0);
    for (unsigned generation = 0; generation < options_.generations && complaints_.empty(); ++generation) {
      const std::unique_ptr<DurableLife> life = start(generation == 0);
      if (life != nullptr) {
        serve(*life, generation == 0);
      }
    }
    if (complaints_.empty()) {
      static_cast<void>(start(false));
    }
    watchers_->count();
    report_.fingerprint = (disk_.steps() * 31 + random_()) * 31 + report_.operations;
    for (const std::string& complaint : complaints_.all()) {
      report_.complaints.push_back(complaint);
    }
    if (!report_.complaints.empty()) {
      report_.complaints.push_back("its story: " + story_);
      report_.complaints.push_back("the world: " + describe(options_));
    }
    return report_;
  }

 private:
  static constexpr unsigned kMostStarts = 4;
  static constexpr std::uint64_t kDayUs = 86'400'000'000;
  static constexpr std::size_t kPatience = 4'000;  ///< the ledger mostly finds faults that take longer

  /// A process that recovered and may serve; null: there is a fault. On the way there, others may have ended.
  std::unique_ptr<DurableLife> start(bool first) {
    if (!first && one_in(random_, 3)) {
      start_without_newest();
    }
    for (unsigned attempt = 0; complaints_.empty(); ++attempt) {
      const bool may_end = !first && attempt < kMostStarts && one_in(random_, 3);
      if (may_end) {
        end_within(24);
      }
      auto life =
          std::make_unique<DurableLife>(disk_, random_, options_, keys_, now_us_, complaints_, report_);
      std::string wrong = life->recover();
      if (wrong.empty()) {
        check(*life);
        if (!first && one_in(random_, 5)) {
          disk_.fill_up();  // until some time later
        }
        wrong = complaints_.empty() ? life->begin_journal() : "";
      }
      if (!complaints_.empty()) {
        return nullptr;
      }
      if (wrong.empty() && !disk_.is_off()) {
        disk_.power_off_at(0);
        return life;
      }
      if (wrong.ends_with(
              ": the journal's end is copied before anybody may read it, and there is no room for that")) {
        disk_.set_quota(~std::uint64_t{0});
        ++report_.full_refusals;
        life.reset();
        lose(false);
        continue;
      }
      if (!disk_.is_off()) {
        complaints_.add("a start is refused: " + wrong);
        return nullptr;
      }
      ++report_.cut_starts;
      const bool power = one_in(random_, 2);
      life.reset();
      lose(power);
    }
    return nullptr;
  }

  /// The newest segment is lost while no process runs. A start is refused, unless all promised changes are
  /// there; then the segment is put back.
  void start_without_newest() {
    std::vector<std::string> names;
    static_cast<void>(disk_.list(server::kJournalDirectory, names));
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".mxj"); });
    if (names.empty()) {
      return;
    }
    const std::string newest = std::string{server::kJournalDirectory} + "/" + names.back();
    // Behind its header anything may be lost without a trace, but for an end in order.
    const std::uint64_t how = random_.below(ended_in_order_ ? 4 : 3);
    const std::shared_ptr<test::SimFile> kept = disk_.exchange(newest, nullptr);
    if (how != 0) {
      auto spoiled = std::make_shared<test::SimFile>();
      const std::string_view bytes = kept->bytes();
      spoiled->write(0, how == 1   ? std::string{}
                        : how == 2 ? std::string(bytes.size(), '\0')
                                   : std::string{bytes.substr(0, server::kPageBytes)});
      static_cast<void>(disk_.exchange(newest, std::move(spoiled)));
    }
    DurableLife life{disk_, random_, options_, keys_, now_us_, complaints_, report_};
    const std::string wrong = life.recover();
    static_cast<void>(disk_.exchange(newest, kept));
    tell("without " + newest);
    if (wrong.empty()) {
      complaints_.unless(life.recovered().epoch >= must_,
                         "the newest segment is lost, and a start misses nothing");
      return;
    }
    ++report_.lost_newest;
    complaints_.unless(wrong.find(newest) != std::string::npos,
                       ("a start without " + newest + " is refused for something else: " + wrong).c_str());
  }

  /// Checks the state that a start found, by the promises and by the earlier state.
  void check(DurableLife& life) {
    const std::uint64_t found = life.recovered().epoch;
    const std::uint64_t now_us = life.now_us();
    ++report_.starts;
    tell("found " + std::to_string(found) + " from " + std::to_string(life.checkpoint()));
    report_.torn += life.recovered().torn.empty() ? 0 : 1;
    report_.gaps += life.recovered().gap.empty() ? 0 : 1;
    report_.from_checkpoint += life.checkpoint() != 0 ? 1 : 0;
    complaints_.unless(found >= must_, ("a start finds epoch " + std::to_string(found) + ", and " +
                                        std::to_string(must_) + " was promised")
                                           .c_str());
    const bool is_new = found < cap_;
    cap_ = std::min(cap_, found);
    reader_->found(cap_);
    watchers_->found(cap_);
    if (ledger_ != nullptr) {
      state_ = ledger_->at(cap_);
    }
    const DurableItems items = life.items();
    if (const std::string wrong = difference(items, state_.live(now_us)); !wrong.empty()) {
      const std::string key = wrong.substr(0, wrong.find(' '));
      complaints_.add("a start finds epoch " + std::to_string(found) + ", but " + wrong +
                      (ledger_ != nullptr ? ledger_->story_of(key) : ""));
      return;
    }
    if (options_.exact && is_new && history_ != nullptr) {
      check_history_with(items, now_us);
    }
  }
  /// Checks a copy of the history with the found state as a page: another start may find less.
  void check_history_with(const DurableItems& items, std::uint64_t now_us) {
    StoreHistory history = *history_;
    history.set_patience(kPatience);
    Operation page;
    page.what = operation::page;
    page.end = ending::done;
    page.last = static_cast<std::uint8_t>(keys_.names.size());
    for (std::size_t key = 0; key < keys_.names.size(); ++key) {
      if (const auto item = items.find(keys_.names[key]); item != items.end()) {
        page.seen.push_back(
            {static_cast<std::uint8_t>(key), std::stoull(item->second.value), item->second.order});
      }
    }
    page.items = page.seen.size();
    page.invoked = page.responded = Operation::kNever - 1;
    page.from_us = page.until_us = now_us;
    history.add(std::move(page));
    StoreReport report;
    check_history(history, options_.store, report, complaints_);
    report_.operations += report.recorded;
    report_.given_up += report.given_up;
  }

  void serve(DurableLife& life, bool fills) {
    // The world goes on from the found state.
    report_.lost_changes += ledger_ != nullptr ? ledger_->changes_after(cap_) : 0;
    history_.reset();
    ledger_.reset();
    life.begin_service(state_, fills, *reader_, *watchers_);
    const bool in_order = one_in(random_, 8);
    ended_in_order_ = false;
    draw_trouble(in_order);
    life.run(one_in(random_, 3) ? 1 + random_.below(1500) : ~std::uint64_t{0});
    if (!complaints_.empty()) {
      life.end();
      return;
    }
    report_.cut_checkpoints += life.checkpoint_goes_on() ? 1 : 0;
    const bool power = one_in(random_, 3) ? false : true;
    if (in_order && !disk_.is_off()) {
      fails_at_ = 0;
      disk_.set_quota(~std::uint64_t{0});
      if (const std::string wrong = life.end_in_order(); wrong.empty()) {
        ++report_.clean_ends;
        ended_in_order_ = true;
      } else if (!disk_.is_off()) {
        complaints_.unless(was_failed_, ("no end in order: " + wrong).c_str());
      }
    }
    life.end();
    must_ = life.promised(power);
    must_of_power_ = life.promised(true);
    tell("served up to " + std::to_string(must_) + (disk_.is_off() ? ", off at " + off_path_ : ""));
    ledger_ = life.take_ledger();
    reader_->end(*ledger_);
    history_ = life.take_history();
    for (const std::string& wrong : ledger_->wrong().all()) {
      complaints_.add(wrong);
    }
    cap_ = ~std::uint64_t{0};
    now_us_ = life.wall_us();
    if (options_.clock_back && one_in(random_, 2)) {
      now_us_ -= std::min(random_.below(one_in(random_, 4) ? kDayUs : 5'000'000), now_us_ - kBeginUs);
    } else {
      now_us_ += random_.below(3'000'000);
    }
    lose(power);
  }
  /// Ends the process and, with `power`, decides all that is uncertain on the disk.
  void lose(bool power) {
    disk_.power_off_at(0);
    fails_at_ = 0;
    disk_.fail_writes(0, 0);
    disk_.fail_syncs(0, 0);
    disk_.set_quota(~std::uint64_t{0});
    if (power) {
      disk_.power_cut(random_());
    } else {
      disk_.kill();
    }
    must_ = power ? must_of_power_ : must_;
    ++(power ? report_.cuts : report_.kills);
    tell(power ? "cut" : "kill");
  }

  /// At one of the next steps of the disk.
  void end_within(std::uint64_t steps) {
    off_ = disk_.steps() + 1 + random_.below(steps);
    disk_.power_off_at(off_);
  }
  void draw_trouble(bool in_order) {
    was_failed_ = false;
    const std::uint64_t now = disk_.steps();
    if (!in_order && !one_in(random_, 4)) {
      end_within(one_in(random_, 3) ? 30 : 400);
    }
    if (one_in(random_, 3)) {
      fails_at_ = now + 1 + random_.below(150);
      trouble_ = random_.below(3);
    }
  }
  void look_at(const SimStep& step) {
    if (step.what == SimStep::kind::rename && step.number == off_) {
      ++report_.cut_renames;
    }
    if (step.number == off_) {
      off_path_ = std::to_string(static_cast<int>(step.what)) + " of " + step.path;
    }
    if (step.path.ends_with(".mxj") && step.number != off_) {
      report_.recycled += step.what == SimStep::kind::rename ? 1 : 0;
      report_.removed += step.what == SimStep::kind::remove ? 1 : 0;
    }
    if (step.number != fails_at_) {
      return;
    }
    was_failed_ = true;
    tell((trouble_ == 0   ? "failing write from "
          : trouble_ == 1 ? "failing sync from "
                          : "full from ") +
         step.path);
    switch (trouble_) {
      case 0:
        disk_.fail_writes(1, EIO);
        break;
      case 1:
        disk_.fail_syncs(1, EIO);
        break;
      default:
        disk_.set_quota(1);  // all existing files are too much
        break;
    }
  }

  void tell(const std::string& what) { story_ += story_.empty() ? what : "; " + what; }

  runtime::Random random_;
  DurableOptions options_;
  test::SimDisk disk_;
  StoreKeys keys_;
  Complaints complaints_;
  DurableReport report_;
  std::uint64_t now_us_ = kBeginUs;  ///< of the wall clock
  DurableState state_;               ///< that the next process goes on from
  std::unique_ptr<DurableLedger> ledger_;
  std::unique_ptr<StoreHistory> history_;
  std::unique_ptr<DurableReader> reader_;
  std::unique_ptr<DurableWatchers> watchers_;
  std::uint64_t must_ = 0;                 ///< least epoch that the next start has to get to
  std::uint64_t must_of_power_ = 0;        ///< the same once the power was cut
  std::uint64_t cap_ = ~std::uint64_t{0};  ///< the greatest that it may, as later starts have found
  std::uint64_t fails_at_ = 0;             ///< step of the disk
  std::uint64_t off_ = 0;
  std::uint64_t trouble_ = 0;
  bool was_failed_ = false;
  bool ended_in_order_ = false;  ///< the last process that served
  std::string story_;
  std::string off_path_;  ///< of the step at which the power goes
};

}  // namespace

DurableReport run_durable_world(std::uint64_t seed, durable_mistake mistake) {
  return DurableWorld{seed, mistake}.run();
}

}  // namespace mxkv::simulation
