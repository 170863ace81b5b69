// A herald over made epochs, and the watches that a test gives it.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/feed/herald.hpp"

namespace mxkv::server {

/// Epochs that a test makes.
struct Epochs {
  struct One {
    std::uint64_t number;
    std::vector<ChangeRecord> records;
  };
  std::deque<std::string> texts;  ///< what records refer to
  std::vector<One> all;
  std::uint64_t complete_behind = 0;
  std::uint64_t through = 0;

  std::string_view keep(std::string text) { return texts.emplace_back(std::move(text)); }
  ChangeRecord put(const std::string& key, std::uint64_t order, std::uint32_t batch = 0) {
    return {.record = PutRecord{.order = order, .key = keep(key), .value = "v"}, .batch = batch};
  }
  ChangeRecord gone(const std::string& key, std::uint64_t order) {
    return {.record = GoneRecord{.order = order, .key = keep(key)}};
  }
  void add(std::vector<ChangeRecord> records) { all.push_back({++through, std::move(records)}); }
  void trim(std::uint64_t behind) {
    complete_behind = behind;
    std::erase_if(all, [behind](const One& one) { return one.number <= behind; });
  }
};

class EpochSource final : public ChangeSource {
 public:
  explicit EpochSource(const Epochs& epochs) : epochs_(epochs) {}
  [[nodiscard]] std::uint64_t tag() const noexcept override { return 10; }
  [[nodiscard]] std::uint64_t through() const noexcept override { return epochs_.through; }
  [[nodiscard]] Position oldest() const override { return {10, epochs_.complete_behind}; }
  [[nodiscard]] position_state seek(const Position& position) override {
    if (position.tag != 10 || position.epoch > epochs_.through) {
      return position_state::lost;
    }
    if (position.epoch < epochs_.complete_behind) {
      return position_state::old;
    }
    at_ = position.epoch;
    return position_state::ok;
  }
  std::uint64_t seek_end() override { return at_ = epochs_.through; }
  [[nodiscard]] outcome next(ChangeEpoch& to) override {
    if (at_ < epochs_.complete_behind) {
      return outcome::old;
    }
    for (const Epochs::One& one : epochs_.all) {
      if (one.number > at_) {
        at_ = to.number = one.number;
        to.records = one.records;
        return outcome::epoch;
      }
    }
    return outcome::none;
  }

 private:
  const Epochs& epochs_;
  std::uint64_t at_ = 0;
};

/// A log that is always on.
class NoSwitch final : public FeedSwitch {
 public:
  void want(bool wanted_now) override { wanted = wanted_now; }
  [[nodiscard]] bool is_on() const noexcept override { return true; }
  [[nodiscard]] bool step(std::uint64_t /*now_ns*/) override { return false; }
  [[nodiscard]] std::uint64_t next_step_ns() const noexcept override { return ~std::uint64_t{0}; }
  [[nodiscard]] std::uint64_t need_recorded() noexcept override { return recorded; }
  bool wanted = false;
  std::uint64_t recorded = 0;
};

struct HeraldTest : ::testing::Test {
  explicit HeraldTest(HeraldOptions options = {.memory_bytes = std::size_t{1} << 20U})
      : herald{log, live, past, clock, nullptr, options, {}} {
    step();
  }
  WatchRef watch(WatchForm form = {.shows = "c"}, std::optional<Position> from = {}) {
    auto made = std::make_shared<Watch>("w", std::move(form), from, 0);
    EXPECT_TRUE(herald.add(made));
    step();
    return made;
  }
  void step() { next = herald.step(clock.monotonic_ns()); }
  /// One tiding, as a connection takes it.
  std::optional<Tiding> take(const WatchRef& of) {
    bool waits = false;
    std::optional<Tiding> tiding = of->take(waits);
    if (waits) {
      herald.taken(of);
    }
    return tiding;
  }
  /// All lines that the watch has got.
  std::string heard(const WatchRef& of, std::size_t most = 100) {
    std::string text;
    for (; most > 0; --most) {
      const std::optional<Tiding> tiding = take(of);
      if (!tiding) {
        break;
      }
      switch (tiding->is) {
        case Tiding::what::begun:
          text += "begun " + std::to_string(tiding->position.epoch) + "\r\n";
          break;
        case Tiding::what::over:
          text += tiding->end == watch_end::old ? "old\r\n" : "lost\r\n";
          break;
        case Tiding::what::lines:
          text += tiding->frame != nullptr ? tiding->frame->lines() : "";
          text +=
              tiding->marks ? "mark " + std::to_string(tiding->position.epoch) + tiding->opaque + "\r\n" : "";
          break;
      }
    }
    return text;
  }

  Epochs epochs;
  runtime::ManualClock clock;
  NoSwitch log;
  EpochSource live{epochs};
  EpochSource past{epochs};
  Herald herald;
  std::uint64_t next = 0;
};

}  // namespace mxkv::server
