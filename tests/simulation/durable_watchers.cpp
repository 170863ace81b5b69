#include "tests/simulation/durable_watchers.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::simulation {

namespace {

constexpr std::size_t kWatchers = 3;

/// A journal's reader that passes over a hole as if nothing was missing.
class HoleSource final : public server::ChangeSource {
 public:
  HoleSource(server::Disk& disk, server::TailOptions options) : tail_(disk, std::move(options)) {}
  [[nodiscard]] std::uint64_t tag() const noexcept override { return tail_.tag(); }
  [[nodiscard]] std::uint64_t through() const noexcept override { return tail_.through(); }
  [[nodiscard]] server::Position oldest() const override { return tail_.oldest(); }
  [[nodiscard]] server::position_state seek(const server::Position& position) override {
    return tail_.seek(position);
  }
  std::uint64_t seek_end() override { return tail_.seek_end(); }
  [[nodiscard]] outcome next(server::ChangeEpoch& to) override {
    const outcome is = tail_.next(to);
    if (is != outcome::old) {
      return is;
    }
    static_cast<void>(tail_.seek_end());
    return outcome::none;
  }

 private:
  server::JournalTail tail_;
};

std::unique_ptr<server::ChangeSource> live_source(server::Disk& disk, server::TailOptions options,
                                                  durable_mistake mistake) {
  if (mistake == durable_mistake::watch_passes_hole) {
    return std::make_unique<HoleSource>(disk, std::move(options));
  }
  return std::make_unique<server::JournalTail>(disk, std::move(options));
}

}  // namespace

DurableWatchers::Process::Process(server::Disk& disk, const server::ManifestFile& manifest,
                                  server::Journal& journal, const runtime::Clock& of,
                                  const server::HeraldOptions& options, durable_mistake mistake)
    : clock(of),
      log(journal.epochs(), {.need = [&journal](std::uint64_t epoch) { journal.need(epoch); },
                             .tag_is_kept = [&manifest] { return manifest.is_kept(); },
                             .wake = [this] { woken = true; }}),
      live(live_source(disk, server::tail_options(manifest.get(), journal.epochs()), mistake)),
      past(disk, server::tail_options(manifest.get(), journal.epochs())),
      herald(log, *live, past, of, nullptr, options, {.wake = [this] { woken = true; }}) {}

DurableWatchers::DurableWatchers(std::uint64_t seed, durable_mistake mistake, const StoreKeys& keys,
                                 Complaints& complaints, FeedReport& report)
    : random_(seed), mistake_(mistake), complaints_(complaints), report_(report) {
  if (mistake != durable_mistake::none && mistake != durable_mistake::watch_passes_hole) {
    return;  // that mistake is for others to find
  }
  for (std::size_t i = 0; i < kWatchers; ++i) {
    watchers_.emplace_back(ledger_, keys, random_, 0, complaints, report);
  }
}

void DurableWatchers::found(std::uint64_t epoch) {
  ledger_.forget_behind(epoch);
  for (FeedWatcher& watcher : watchers_) {
    watcher.found(epoch);
  }
}

FeedLedger& DurableWatchers::begin(server::Disk& disk, const server::ManifestFile& manifest,
                                   server::Journal& journal, const runtime::Clock& clock, std::size_t workers,
                                   index::CommitListener<std::string_view>& journal_feed) {
  const bool little = one_in(random_, 3);
  process_ = std::make_unique<Process>(
      disk, manifest, journal, clock,
      server::HeraldOptions{.workers = workers,
                            .memory_bytes = little ? 200 + random_.below(8'000) : std::size_t{1} << 20U,
                            .value_bytes = 64,
                            .mark_ns = 1'000'000 + random_.below(20'000'000)},
      mistake_);
  ledger_.set_epochs(&journal.epochs());
  ledger_.relay().listen(&journal_feed);
  for (FeedWatcher& watcher : watchers_) {
    watcher.connect(process_->herald, journal.epochs());
  }
  return ledger_;
}

void DurableWatchers::journal_changed() {
  if (process_ != nullptr) {
    process_->log.changed();
  }
}

void DurableWatchers::step_herald() {
  const std::uint64_t now_ns = process_->clock.monotonic_ns();
  if (std::exchange(process_->woken, false) || now_ns >= process_->next_ns) {
    process_->next_ns = process_->herald.step(now_ns);
  }
  take_news();
}

void DurableWatchers::take_news() {
  if (!process_->herald.has_news(0)) {
    return;
  }
  for (const server::WatchRef& watch : process_->herald.take_news(0)) {
    for (FeedWatcher& watcher : watchers_) {
      if (watcher.is(*watch)) {
        watcher.news();
      }
    }
  }
}

void DurableWatchers::step() {
  if (process_ == nullptr || !one_in(random_, 8)) {
    return;
  }
  step_herald();
  for (FeedWatcher& watcher : watchers_) {
    watcher.have_whim();
  }
}

void DurableWatchers::hear_all() {
  constexpr unsigned kMostSteps = 2'000;
  const auto satisfied = [](const FeedWatcher& watcher) { return watcher.satisfied(); };
  for (FeedWatcher& watcher : watchers_) {
    if (watcher.watches()) {
      watcher.ask_for_mark();
    }
  }
  for (unsigned left = kMostSteps; left > 0 && !std::ranges::all_of(watchers_, satisfied); --left) {
    process_->woken = true;
    step_herald();
    for (FeedWatcher& watcher : watchers_) {
      watcher.take(~std::size_t{0});
    }
  }
  complaints_.unless(std::ranges::all_of(watchers_, satisfied), "a watch never hears what it asked for");
}

void DurableWatchers::count() const {
  for (const FeedWatcher& watcher : watchers_) {
    watcher.count(report_);
  }
}

void DurableWatchers::end() {
  if (process_ == nullptr) {
    return;
  }
  for (FeedWatcher& watcher : watchers_) {
    watcher.disconnect();
  }
  report_.falls += process_->herald.counts().falls.load();
  report_.old += process_->herald.counts().old.load();
  report_.gaps += process_->herald.counts().gaps.load();
  ledger_.set_epochs(nullptr);
  ledger_.relay().listen(nullptr);
  process_.reset();
}

}  // namespace mxkv::simulation
