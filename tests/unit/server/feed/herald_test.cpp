// The herald over made epochs: order, batches, marks, positions, watches that fall behind.
#include "server/feed/herald.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace mxkv::server {
namespace {

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
  /// All lines that the watch has got.
  std::string heard(const WatchRef& of, std::size_t most = 100) {
    std::string text;
    for (bool waits = false; most > 0; --most) {
      const std::optional<Tiding> tiding = of->take(waits);
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

TEST_F(HeraldTest, TellsOfWhatComesAfterTheAnswer) {
  epochs.add({epochs.put("a", 1)});
  step();
  const WatchRef all = watch();
  EXPECT_EQ(heard(all), "begun 1\r\n");
  epochs.add({epochs.put("a", 5)});
  step();
  EXPECT_EQ(heard(all), "WP ka c5\r\nmark 2\r\n");
}

TEST_F(HeraldTest, SortsAnEpochByOrder) {
  const WatchRef all = watch();
  epochs.add({epochs.put("a", 9), epochs.put("b", 3), epochs.gone("a", 12), epochs.put("a", 4)});
  step();
  EXPECT_EQ(heard(all), "begun 0\r\nWP kb c3\r\nWP ka c4\r\nWP ka c9\r\nWG ka Rd\r\nmark 1\r\n");
}

TEST_F(HeraldTest, ABatchStandsTogetherWhereItsLeastOrderIs) {
  const WatchRef all = watch();
  epochs.add({epochs.put("x", 7), epochs.put("a", 5, 1), epochs.put("b", 9, 1), epochs.put("b", 4)});
  step();
  EXPECT_EQ(heard(all), "begun 0\r\nWP kb c4\r\nWB 2\r\nWP ka c5\r\nWP kb c9\r\nWP kx c7\r\nmark 1\r\n");
}

TEST_F(HeraldTest, TwoBatchesSideBySideAreToldApart) {
  const WatchRef all = watch();
  epochs.add({epochs.put("a", 1, 1), epochs.put("b", 2, 1), epochs.put("c", 3, 2), epochs.put("d", 4, 2)});
  step();
  EXPECT_EQ(heard(all),
            "begun 0\r\nWB 2\r\nWP ka c1\r\nWP kb c2\r\nWB 2\r\nWP kc c3\r\nWP kd c4\r\nmark 1\r\n");
}

TEST_F(HeraldTest, TheOnlyLineOfABatchNeedsNoWord) {
  const WatchRef some = watch({.span = span_of_prefix("a"), .shows = "c"});
  epochs.add({epochs.put("a", 1, 1), epochs.put("b", 2, 1)});
  step();
  EXPECT_EQ(heard(some), "begun 0\r\nWP ka c1\r\nmark 1\r\n");
}

TEST_F(HeraldTest, WatchesOfOneFormShareTheirFrames) {
  const WatchRef one = watch();
  const WatchRef other = watch();
  static_cast<void>(heard(one));
  static_cast<void>(heard(other));
  epochs.add({epochs.put("a", 1)});
  step();
  bool waits = false;
  EXPECT_EQ(one->take(waits)->frame, other->take(waits)->frame);
  EXPECT_EQ(herald.counts().channels.load(), 1U);
  EXPECT_EQ(herald.counts().lines.load(), 1U);
  EXPECT_EQ(herald.counts().told.load(), 2U);
}

TEST_F(HeraldTest, TellsOnlyTheKindsThatAreWanted) {
  const WatchRef gone = watch({.kinds = told::kDeleted});
  epochs.add({epochs.put("a", 1), epochs.gone("a", 2)});
  step();
  EXPECT_EQ(heard(gone), "begun 0\r\nWG ka Rd\r\nmark 1\r\n");
}

TEST_F(HeraldTest, AWatchThatLeftIsToldOfNothing) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  EXPECT_TRUE(log.wanted);
  herald.remove(all);
  epochs.add({epochs.put("a", 1)});
  step();
  EXPECT_EQ(heard(all), "");
  EXPECT_EQ(herald.counts().watches.load(), 0U);
  EXPECT_FALSE(log.wanted);
}

TEST_F(HeraldTest, GoesOnBehindAPosition) {
  for (std::uint64_t order = 1; order <= 4; ++order) {
    epochs.add({epochs.put("a", order)});
  }
  step();
  const WatchRef all = watch({.shows = "c"}, Position{10, 2});
  EXPECT_EQ(heard(all), "begun 2\r\n");
  step();  // once the connection has taken the answer
  EXPECT_EQ(heard(all), "WP ka c3\r\nmark 3\r\nWP ka c4\r\nmark 4\r\n");
  epochs.add({epochs.put("a", 5)});
  step();
  EXPECT_EQ(heard(all), "WP ka c5\r\nmark 5\r\n");
}

TEST_F(HeraldTest, APositionThatCannotBeReadIsRefused) {
  epochs.add({epochs.put("a", 1)});
  epochs.add({epochs.put("a", 2)});
  step();
  EXPECT_EQ(heard(watch({}, Position{11, 1})), "lost\r\n");
  EXPECT_EQ(heard(watch({}, Position{10, 3})), "lost\r\n");
  epochs.trim(1);
  EXPECT_EQ(heard(watch({}, Position{10, 0})), "old\r\n");
  EXPECT_EQ(heard(watch({}, Position{10, 1})), "begun 1\r\n");
  EXPECT_EQ(herald.counts().watches.load(), 1U);
}

TEST_F(HeraldTest, AGapEndsLiveWatches) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  epochs.add({epochs.put("a", 1)});
  epochs.add({epochs.put("a", 2)});
  epochs.trim(1);
  step();
  EXPECT_EQ(heard(all), "old\r\n");
  EXPECT_EQ(heard(watch()), "begun 2\r\n");
}

TEST_F(HeraldTest, TheLogHearsThatTheLastWatchEnded) {
  EXPECT_EQ(heard(watch({}, Position{11, 1})), "lost\r\n");
  EXPECT_LE(next, clock.monotonic_ns());
  step();
  EXPECT_FALSE(log.wanted);
}

TEST_F(HeraldTest, AMarkWaitsForWhatTookEffectBeforeIt) {
  const WatchRef some = watch({.span = span_of_prefix("z")});
  static_cast<void>(heard(some));
  log.recorded = 1;
  herald.mark(some, "m7");
  step();
  EXPECT_EQ(heard(some), "");
  epochs.add({epochs.put("a", 1)});
  step();
  EXPECT_EQ(heard(some), "mark 1m7\r\n");
}

TEST_F(HeraldTest, AWatchWithoutLinesIsMarkedNowAndThen) {
  const WatchRef some = watch({.span = span_of_prefix("z")});
  static_cast<void>(heard(some));
  epochs.add({epochs.put("a", 1)});
  step();
  EXPECT_EQ(heard(some), "");
  clock.advance_us(1'500'000);
  step();
  EXPECT_EQ(heard(some), "mark 1\r\n");
  clock.advance_us(1'500'000);
  step();
  EXPECT_EQ(heard(some), "") << "its position has not moved";
}

TEST_F(HeraldTest, TheNumberOfWatchesIsLimited) {
  Herald small{log, live, past, clock, nullptr, {.most_watches = 1}, {}};
  const auto make = [] { return std::make_shared<Watch>("w", WatchForm{}, std::nullopt, 0); };
  const WatchRef first = make();
  EXPECT_TRUE(small.add(first));
  EXPECT_FALSE(small.add(make()));
  small.remove(first);
  static_cast<void>(small.step(clock.monotonic_ns()));
  EXPECT_TRUE(small.add(make()));
}

struct ShortOfMemory : HeraldTest {
  ShortOfMemory() : HeraldTest({.memory_bytes = 200}) {}
};

TEST_F(ShortOfMemory, ASlowWatchFallsBehindAndCatchesUp) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  std::string wanted;
  for (std::uint64_t order = 1; order <= 40; ++order) {
    epochs.add({epochs.put("a", order)});
    wanted += "WP ka c" + std::to_string(order) + "\r\nmark " + std::to_string(order) + "\r\n";
    step();
  }
  EXPECT_EQ(herald.counts().falls.load(), 1U);
  EXPECT_EQ(herald.counts().behind.load(), 1U);
  EXPECT_LE(herald.frame_bytes(), 400U);
  std::string text;
  for (int turn = 0; turn < 40; ++turn) {
    text += heard(all);
    step();
  }
  EXPECT_EQ(text, wanted);
  EXPECT_EQ(herald.counts().live.load(), 1U);
  EXPECT_EQ(herald.counts().behind.load(), 0U);
}

TEST_F(ShortOfMemory, ASlowWatchEndsWhereTheLogHasNoMore) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  for (std::uint64_t order = 1; order <= 40; ++order) {
    epochs.add({epochs.put("a", order)});
    step();
  }
  epochs.trim(40);
  step();
  std::string text;
  for (int turn = 0; turn < 3; ++turn) {
    text += heard(all);
    step();
  }
  EXPECT_TRUE(text.ends_with("old\r\n")) << text;
  EXPECT_EQ(herald.counts().watches.load(), 0U);
}

TEST_F(HeraldTest, AnEpochIsCutIntoFrames) {
  const WatchRef all = watch();
  static_cast<void>(heard(all));
  std::vector<ChangeRecord> records;
  for (std::uint64_t order = 1; order <= 20'000; ++order) {
    records.push_back(epochs.put("key" + std::to_string(order), order));
  }
  epochs.add(std::move(records));
  step();
  bool waits = false;
  std::vector<Tiding> sections;
  while (std::optional<Tiding> tiding = all->take(waits)) {
    sections.push_back(*std::move(tiding));
  }
  ASSERT_GT(sections.size(), 3U);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    EXPECT_EQ(sections[i].marks, i + 1 == sections.size());
    EXPECT_LT(sections[i].frame->lines().size(), Frame::kBytes + 100);
    EXPECT_TRUE(sections[i].frame->lines().ends_with("\r\n"));
  }
}

}  // namespace
}  // namespace mxkv::server
