#include "tests/simulation/durable_life.hpp"

#include <algorithm>
#include <utility>

#include "server/durability/access_notes.hpp"
#include "server/durability/journal_continuation.hpp"
#include "tests/unit/index/tree_drain.hpp"

namespace mxkv::simulation {

using server::checkpoint_stage;
using server::journal_state;

DurableLife::DurableLife(test::SimDisk& disk, runtime::Random& random, const DurableOptions& options,
                         StoreKeys& keys, std::uint64_t now_us, Complaints& complaints, DurableReport& report)
    : disk_(disk),
      random_(random),
      options_(options),
      keys_(keys),
      complaints_(complaints),
      report_(report),
      whims_(random, options.store, keys, store_fault::none),
      machine_(options.store.world.runtime),
      store_(machine_.runtime, options.store.store),
      replies_(keys) {
  machine_.clock.set_wall_us(now_us);
  bells_.rung.resize(workers());
}

DurableLife::~DurableLife() {
  end();
  if (watchers_ != nullptr) {
    watchers_->end();
  }
  disks_.clear();
  if (checkpointer_) {
    checkpointer_->release(machine_[0]);
  }
  checkpointer_.reset();
  store_.tree().commits().listen(nullptr);
  keeper_.reset();
  journal_.reset();
  index::testing::drain(store_.tree(), machine_.runtime);
  const index::testing::LiveBytes left = index::testing::live_bytes(machine_.runtime);
  complaints_.unless(left.items == 0, "items leaked");
}

std::string DurableLife::recover() {
  auto opened = server::open_data_directory(disk_);
  if (!opened) {
    return opened.error().message;
  }
  directory_ = std::move(opened).value();
  // A wall clock that was wrong is right from then on: clients send absolute times of expiry.
  auto found = server::recover(disk_, directory_.manifest, store_, {.resume_time = [this](std::uint64_t us) {
                                 machine_.clock.advance_us(us - machine_.clock.steady_us());
                                 machine_.clock.set_wall_us(us);
                               }});
  if (!found) {
    return found.error().message;
  }
  recovered_ = std::move(found).value();
  return {};
}

std::string DurableLife::begin_journal() {
  if (const auto error = server::begin_service(disk_, directory_, now_us(), recovered_.epoch + 1)) {
    return error->message;
  }
  make_journal();
  std::string wrong = journal_->begin();
  report_.full_starts += wrong.empty() && journal_->writer().out_of_space() ? 1 : 0;
  return wrong;
}

void DurableLife::make_journal() {
  manifest_ = std::make_unique<server::ManifestFile>(disk_, directory_.manifest);
  server::JournalOptions options{.workers = workers(),
                                 .first_epoch = recovered_.epoch + 1,
                                 .horizon_us = recovered_.ceiling,
                                 .segments = segments_behind(recovered_, *manifest_, options_.segment_bytes),
                                 .writer = {.mode = options_.mode, .history_bytes = options_.history_bytes}};
  if (options_.mistake == durable_mistake::end_is_not_kept) {
    options.segments.keep_end = {};
  } else if (options_.mistake == durable_mistake::end_is_kept_too_early) {
    options.segments.keep_end = [this](const server::JournalEnd& end) {
      return manifest_->keep_end({.segment = end.segment + 1, .epoch = end.epoch});
    };
  }
  const auto greatest_order = [this] {
    return std::max(store_.greatest_order(now_us()), store_.tree().commits().floor());
  };
  server::WriterHooks hooks{.greatest_order = greatest_order, .on_change = [this] {
                              if (watchers_ != nullptr) {
                                watchers_->journal_changed();
                              }
                            }};
  options.gate = {.most_waiting = std::uint64_t{1} << 30U,
                  .wake = [this](std::size_t worker) { bells_.ring(worker); }};
  journal_ = std::make_unique<server::Journal>(disk_, machine_.clock, std::move(options), std::move(hooks));
  std::vector<server::RecordBuffer*> buffers;
  for (std::size_t i = 0; i < workers(); ++i) {
    buffers.push_back(&journal_->buffer(id(i)));
    buffers.back()->set_context(&machine_[i]);
  }
  feed_ = std::make_unique<server::StoreJournal>(std::move(buffers), server::record_times::steady);
  keeper_ = std::make_unique<server::CheckpointKeeper>(*journal_, machine_.clock, config::DurabilityOptions{},
                                                       0, greatest_order, server::KeeperLines{});
  checkpointer_ = std::make_unique<server::Checkpointer>(
      disk_, *manifest_, store_, *keeper_,
      server::CheckpointOptions{.rate_bytes = 0, .compress = random_.below(4) == 0, .parts = options_.parts});
}

void DurableLife::begin_service(const DurableState& state, bool fills, DurableReader& reader,
                                DurableWatchers& watchers) {
  std::map<std::string, std::uint64_t, std::less<>> told;
  KeyStates begin{};
  for (std::size_t key = 0; key < keys_.names.size(); ++key) {
    told[keys_.names[key]] = keys_.greatest_cas[key];
    if (const auto item = state.items.find(keys_.names[key]); item != state.items.end()) {
      begin[key] = {true, item->second.expiry, std::stoull(item->second.value), item->second.order};
    }
  }
  ledger_ = std::make_unique<DurableLedger>(state, std::move(told));
  watchers_ = &watchers;
  ledger_->listen(&journal_->epochs(),
                  &watchers.begin(disk_, *manifest_, *journal_, machine_.clock, workers(), *feed_));
  if (options_.mistake == durable_mistake::keys_mint_alone) {
    ledger_->mint_alone();
  }
  tail_ = std::make_unique<server::JournalTail>(disk_,
                                                server::tail_options(manifest_->get(), journal_->epochs()));
  reader_ = &reader;
  reader.begin();
  store_.tree().commits().listen(ledger_.get());
  history_ = std::make_unique<StoreHistory>(fills ? keys_.begin() : begin, options_.store.evicts);
  const WorldOptions& world = options_.store.world;
  stepper_ = std::make_unique<Stepper>(machine_.runtime, machine_.clock, random_, bells_, complaints_,
                                       world.interruptions_in_64, world.uneven_speed);
  record_ = std::make_unique<StoreRecord>(*history_, *stepper_, machine_.clock);
  record_->expect_failures();  // requests without an answer may have been refused
  interference_ = std::make_unique<Interference<server::ItemTraits>>(machine_.runtime, machine_.clock,
                                                                     store_.tree(), random_, false);
  progress_ = std::make_unique<StoreProgress>(machine_.runtime, store_);
  whims_.set_world(store_, *stepper_, *record_);
  whims_.set_disk(*journal_);
  for (std::size_t i = 0; i < workers(); ++i) {
    disks_.emplace_back(*journal_, store_, machine_[i]);
    pollers_.emplace_back(bells_, machine_[i], store_, replies_, *record_, whims_, random_, options_.store);
    pollers_.back().set_disk(disks_.back());
    machine_[i].set_poller(pollers_.back());
  }
  stepper_->set_aside([this] { aside(); });
  stepper_->set_parks([this](std::size_t worker) { return disks_[worker].park(); });
  if (fills) {
    fill();
  }
  for (WorkerClients& clients : pollers_) {
    clients.set_left(options_.store.operations / workers() + 1);
  }
}

void DurableLife::fill() {
  for (StoreRequest& request : whims_.requests().first_requests()) {
    pollers_.front().ask(std::move(request));
  }
  while (!pollers_.front().idle() || journal_->epochs().last_recorded() > journal_->epochs().durable()) {
    for (std::size_t i = 0; i < workers(); ++i) {
      machine_[i].step();
    }
    static_cast<void>(journal_->step());
    machine_.clock.advance_us(100);
  }
}

void DurableLife::run(std::uint64_t most_rounds) {
  constexpr std::uint64_t kUnrest = 6'000;
  constexpr std::uint64_t kMostRounds = 400'000;
  std::uint64_t round = 0;
  for (; round < most_rounds && round < kMostRounds && !disk_.is_off() && complaints_.empty() && !finished();
       ++round) {
    const bool moves = stepper_->go_on();
    aside();
    whims_.look_at_disk(false);
    static_cast<void>(progress_->look(record_->ended()));
    if (round < kUnrest) {
      interfere();
    } else if (round == kUnrest) {
      stepper_->calm_down();
      interference_->end();
    }
    if (round % 1024 == kUnrest % 1024) {
      disk_.set_quota(~std::uint64_t{0});
    }
    if (!moves || round > kUnrest) {
      machine_.clock.advance_us(random_.below(moves ? 400 : 20'000));
    }
  }
  interference_->end();
  if (round == kMostRounds) {
    const server::CheckpointStatus checkpoint = checkpointer_->status();
    std::string text = "nothing gets on: the journal's state is " +
                       std::to_string(static_cast<int>(journal_->writer().state())) + ", epoch " +
                       std::to_string(journal_->epochs().current()) + ", durable " +
                       std::to_string(journal_->epochs().durable()) + ", checkpoint stage " +
                       std::to_string(static_cast<int>(checkpoint.stage)) + ", " + checkpoint.last_error +
                       ", " + journal_->writer().last_error() + "; " + progress_->describe();
    for (const WorkerClients& clients : pollers_) {
      text += clients.describe_waiting();
    }
    complaints_.add(text);
  }
}

bool DurableLife::finished() const {
  return whims_.finished() && std::all_of(pollers_.begin(), pollers_.end(),
                                          [](const WorkerClients& clients) { return clients.idle(); });
}

void DurableLife::aside() {
  for (std::uint64_t steps = random_.below(3); steps > 0 && !disk_.is_off(); --steps) {
    static_cast<void>(journal_->step());
    note_journal();
  }
  for (std::uint64_t steps = random_.below(3); steps > 0 && !disk_.is_off(); --steps) {
    step_checkpointer();
  }
  step_readers();
}

void DurableLife::step_readers() {
  if (reader_ == nullptr || disk_.is_off()) {
    return;
  }
  if (manifest_->is_kept()) {
    reader_->step(*tail_, journal_->epochs().current() - 1, *ledger_);
  }
  watchers_->step();
}

void DurableLife::note_journal() {
  const journal_state now = journal_->writer().state();
  const bool broken = now == journal_state::broken;
  const bool refuses = now == journal_state::refusing;
  if (disk_.is_off()) {
    return;
  }
  report_.failures += broken && !was_broken_ ? 1 : 0;
  report_.rebased += !broken && was_broken_ ? 1 : 0;
  report_.refusals += was_refusing_ && now == journal_state::running ? 1 : 0;
  was_broken_ = broken;
  was_refusing_ = refuses;
}

void DurableLife::step_checkpointer() {
  const server::CheckpointStatus before = checkpointer_->status();
  const bool broken = journal_->writer().state() == journal_state::broken;
  if (before.stage == checkpoint_stage::idle && !before.running) {
    if (broken || random_.below(options_.checkpoint_in * 8) == 0) {
      static_cast<void>(checkpointer_->begin());
    }
    return;
  }
  if (broken && before.epoch != 0 && before.epoch < journal_->writer().gap_end()) {
    checkpointer_->abandon();
  }
  static_cast<void>(checkpointer_->step());
  if (disk_.is_off()) {
    return;
  }
  const server::CheckpointStatus now = checkpointer_->status();
  if (before.stage == checkpoint_stage::begin && now.stage != before.stage) {
    const std::uint64_t us = now_us();
    const bool all = difference(items_of(store_, us), ledger_->at(~std::uint64_t{0}).live(us)).empty();
    report_.amid += all ? 0 : 1;
  }
  report_.checkpoints += now.completed - before.completed;
  report_.failed_checkpoints += now.failed - before.failed;
}

bool DurableLife::checkpoint_goes_on() const {
  return checkpointer_ && checkpointer_->status().stage != checkpoint_stage::idle;
}

void DurableLife::interfere() {
  interference_->interfere();
  switch (random_.below(48)) {
    case 0:
      machine_.clock.advance_us(random_.below(1'500'000));
      break;
    case 1:
      if (options_.store.stalls) {
        stepper_->stall(random_.below(workers()), random_.below(60));
      }
      break;
    case 2:
      if (random_.below(4) == 0) {
        disk_.set_quota(~std::uint64_t{0});
      }
      break;
    default:
      break;
  }
}

std::string DurableLife::end_in_order() {
  end();
  server::record_accesses(store_, 0, now_us(), *journal_);
  if (!journal_->flush_all_now()) {
    return journal_->writer().last_error();
  }
  if (const auto error = note_orderly_end(*manifest_, *journal_, now_us(), keeper_->ceiling())) {
    return error->message;
  }
  in_order_ = journal_->writer().synced();
  watchers_->hear_all();
  return {};
}

void DurableLife::end() {
  if (pollers_.empty()) {
    return;
  }
  whims_.look_at_disk(true);
  for (WorkerClients& clients : pollers_) {
    clients.discard_parked();
    released_ = std::max(released_, clients.released());
    static_cast<void>(clients.leave());
  }
  store_.discard_waiting(machine_.runtime);
  machine_.runtime.drain_stopped();
  for (std::size_t i = 0; i < workers(); ++i) {
    machine_[i].set_poller(nobody_);
  }
  pollers_.clear();
  complaints_.unless(replies_.nonsense().empty(), ("not understood: " + replies_.nonsense()).c_str());
  report_.no_space += journal_->writer().counts().no_space.load(std::memory_order_relaxed);
  report_.released += released_ > 0 ? 1 : 0;
  report_.groups += ledger_->groups();
}

std::uint64_t DurableLife::promised(bool power) const {
  if (power && options_.mode.sync == config::sync_mode::never) {
    // Written is not flushed, also where a reply has waited; and records flushed behind a gap do not count.
    return std::max(journal_->writer().failures() == 0 ? journal_->writer().synced() : 0, in_order_);
  }
  return std::max({released_, journal_->epochs().durable(), in_order_});
}

std::unique_ptr<DurableLedger> DurableLife::take_ledger() {
  store_.tree().commits().listen(nullptr);
  ledger_->listen(nullptr, nullptr);
  watchers_->end();
  return std::move(ledger_);
}

}  // namespace mxkv::simulation
