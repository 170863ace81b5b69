// A client of a simulated server with one watch at a time: it begins, stalls, asks for marks, leaves and returns, also at
// the next process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/feed/herald.hpp"
#include "tests/simulation/feed_judge.hpp"
#include "tests/simulation/feed_ledger.hpp"
#include "tests/simulation/feed_world.hpp"
#include "tests/simulation/store_keys.hpp"
#include "tests/simulation/world_options.hpp"

namespace mxkv::simulation {

/// Thread-safety: one thread.
class FeedWatcher {
 public:
  FeedWatcher(const FeedLedger& ledger, const StoreKeys& keys, runtime::Random& random, std::size_t worker,
              Complaints& complaints, FeedReport& report)
      : ledger_(ledger),
        keys_(keys),
        random_(random),
        worker_(worker),
        complaints_(complaints),
        report_(report),
        judge_(ledger, complaints) {}

  /// A process serves.
  void connect(server::Herald& herald, const server::CommitEpochs& epochs) noexcept {
    herald_ = &herald;
    epochs_ = &epochs;
  }
  /// It has ended.
  void disconnect() {
    forget();
    herald_ = nullptr;
    is_earlier_ = left_at_.has_value();
  }
  /// The next process has found all epochs up to this one.
  void found(std::uint64_t epoch) { is_past_ = is_past_ && (!left_at_ || left_at_->epoch <= epoch); }

  [[nodiscard]] bool watches() const noexcept { return watch_ != nullptr; }
  [[nodiscard]] bool is(const server::Watch& watch) const noexcept { return watch_.get() == &watch; }
  /// Whether it has heard all that it asked for.
  [[nodiscard]] bool satisfied() const noexcept { return watch_ == nullptr || (begun_ && asked_.empty()); }
  void news() noexcept { has_news_ = true; }

  /// Something at random, now and then.
  void have_whim() {
    if (stalled_ > 0) {
      --stalled_;
      return;
    }
    if (watch_ == nullptr) {
      if (one_in(random_, 24)) {
        begin();
      }
    } else if (one_in(random_, 40)) {
      stalled_ = random_.below(200);
    } else if (one_in(random_, 24)) {
      ask_for_mark();
    } else if (one_in(random_, 100)) {
      leave();
    }
    take(1 + random_.below(4));
  }
  void begin() {
    server::WatchForm form{.span = draw_span(), .shows = "c"};
    if (one_in(random_, 4)) {
      form.kinds =
          static_cast<std::uint8_t>(1 + random_.below(server::told::kTouched * 2 - 1)) & server::told::kUsual;
      form.kinds = form.kinds == 0 ? server::told::kPut : form.kinds;
    }
    std::optional<server::Position> from;
    if (left_at_ && one_in(random_, 2)) {
      from = left_at_;
      ++report_.returns;
    }
    watch_ = std::make_shared<server::Watch>("w", form, from, worker_);
    begun_ = false;
    before_ = from ? 0 : ledger_.last_label();
    if (!herald_->add(watch_)) {
      complaints_.add("there are too many watches");
    }
    ++report_.watches;
  }
  void ask_for_mark() {
    const std::uint64_t label = ledger_.last_label();
    if (herald_->mark(watch_, "m" + std::to_string(++marks_))) {
      asked_.push_back(label);
    } else {
      complaints_.unless(!asked_.empty(), "a client without a mark may ask for one");
    }
  }
  void leave() {
    herald_->remove(watch_);
    forget();
  }
  void take(std::size_t most) {
    while (watch_ != nullptr && has_news_ && most-- > 0) {
      bool herald_waits = false;
      if (const std::optional<server::Tiding> tiding = watch_->take(herald_waits)) {
        hear(*tiding);
      } else {
        has_news_ = false;
      }
      if (herald_waits) {
        herald_->taken(watch_);
      }
    }
  }

  void count(FeedReport& report) const {
    report.told += judge_.told();
    report.batches += judge_.batches();
    report.ranges += judge_.ranges();
  }

 private:
  [[nodiscard]] server::KeySpan draw_span() {
    if (one_in(random_, 2)) {
      return {};
    }
    std::string low = any_key();
    if (one_in(random_, 3)) {
      return server::span_of_prefix(low.substr(0, 1 + random_.below(low.size())));
    }
    std::string high = any_key();
    if (high < low) {
      std::swap(low, high);
    }
    return {.low = low, .high = high + std::string(1, '\0'), .endless = false};
  }
  [[nodiscard]] std::string any_key() {
    const bool other = !keys_.others.empty() && one_in(random_, 2);
    const std::vector<std::string>& names = other ? keys_.others : keys_.names;
    return names[random_.below(names.size())];
  }
  void hear(const server::Tiding& tiding) {
    switch (tiding.is) {
      case server::Tiding::what::begun:
        complaints_.unless(tiding.position.epoch < epochs_->current(),
                           "a watch begins behind the current epoch");
        complaints_.unless(tiding.position.epoch >= before_, "a watch begins before what was there");
        if (watch_->from()) {
          complaints_.unless(is_past_, "a watch goes on from a position of a history that was lost");
          report_.later += is_earlier_ ? 1 : 0;
        }
        begun_ = true;
        judge_.begin(watch_->form(), tiding.position.epoch);
        break;
      case server::Tiding::what::lines:
        complaints_.unless(begun_, "a watch is told before it has begun");
        if (tiding.frame != nullptr) {
          judge_.lines(tiding.frame->lines());
        }
        if (tiding.marks) {
          judge_.mark(tiding.position.epoch);
          left_at_ = tiding.position;
          is_past_ = true;
          is_earlier_ = false;
        }
        if (tiding.asked) {
          complaints_.unless(!asked_.empty() && asked_.front() <= tiding.position.epoch,
                             "a mark that was asked for comes too early");
          asked_.pop_front();
          ++report_.marks;
        }
        break;
      case server::Tiding::what::over:
        if (tiding.end == server::watch_end::lost) {
          complaints_.unless(!is_past_, "a watch's position in the past is called lost");
          ++report_.lost;
        } else if (!begun_) {
          complaints_.unless(is_past_, "a watch's position of a history that was lost is called old");
        }
        left_at_.reset();
        is_past_ = true;
        is_earlier_ = false;
        forget();
        break;
    }
  }
  void forget() {
    watch_ = nullptr;
    has_news_ = false;
    asked_.clear();
  }

  server::Herald* herald_ = nullptr;
  const server::CommitEpochs* epochs_ = nullptr;
  const FeedLedger& ledger_;
  const StoreKeys& keys_;
  runtime::Random& random_;
  std::size_t worker_;
  Complaints& complaints_;
  FeedReport& report_;
  FeedJudge judge_;
  server::WatchRef watch_;
  bool begun_ = false;
  bool has_news_ = false;
  std::uint64_t before_ = 0;  ///< the greatest label when the watch was asked for; of one from a position 0
  std::uint64_t stalled_ = 0;
  std::uint64_t marks_ = 0;
  std::deque<std::uint64_t> asked_;  ///< the greatest label when each mark was asked for
  std::optional<server::Position> left_at_;
  bool is_past_ = true;      ///< each start since found all epochs up to left_at_
  bool is_earlier_ = false;  ///< left_at_ is of an earlier process
};

}  // namespace mxkv::simulation
