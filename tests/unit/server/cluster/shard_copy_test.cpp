// Copies of a shard for backups, by hand: logs in memory that are trimmed, cut, and written to while they are read.
#include "server/cluster/shard_copy.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace mxkv::test::shard_copies {
namespace {

using namespace server;

constexpr MessageScope kShard{.cluster = 5, .shard = 2};
constexpr std::uint64_t kOwner = 7;

/// Hands out its messages at once. Reports its end when the test says so.
class TrimmedLog final : public OrderedLog {
 public:
  void append(std::string /*bytes*/, AppendDone /*done*/) override {}
  void read(LogPosition from, LogSink& sink) override {
    reads_ = true;
    if (from < begin || from > stored.size()) {
      sink.begins_later();
      return;
    }
    for (LogPosition at = from; reads_ && at < stored.size(); ++at) {
      sink.message(at, stored[at]);
    }
  }
  void stop() override { reads_ = false; }
  void end(EndDone done) override { asked_ = std::move(done); }
  void trim(LogPosition before) override { begin = before; }
  void tell_end() { std::exchange(asked_, {})(stored.size()); }
  void tell_nothing() { std::exchange(asked_, {})(std::nullopt); }

  std::vector<std::string> stored;
  LogPosition begin = 0;

 private:
  EndDone asked_;
  bool reads_ = false;
};

template <class R>
std::string body_of(const R& record) {
  std::string body;
  RecordBody::add_record(body, record);
  return body;
}
std::string put(std::string_view key, std::string_view value, std::uint64_t order) {
  return body_of(PutRecord{.order = order, .key = key, .value = value, .flags = 3});
}

class ShardCopyTest : public testing::Test {
 protected:
  ShardCopyTest() {
    log_.stored.push_back(write_message(
        {.kind = message_kind::open, .shard = 2, .cluster = 5, .term = 1, .node = kOwner, .body = {}}));
    static_cast<void>(state_.take(parse_message(log_.stored.back(), kShard).message));
  }

  void append(std::string_view body, std::uint32_t part = 0, std::uint32_t parts = 1) {
    log_.stored.push_back(write_message({.kind = message_kind::group,
                                         .shard = 2,
                                         .cluster = 5,
                                         .term = 1,
                                         .sequence = state_.sequence(),
                                         .node = kOwner,
                                         .epoch = 9,
                                         .part = part,
                                         .parts = parts,
                                         .body = body}));
    static_cast<void>(state_.take(parse_message(log_.stored.back(), kShard).message));
  }
  /// A snapshot that continues at `start`, with these items.
  SnapshotEntry snapshot(const ShardStart& start, const std::string& body) {
    const auto first = static_cast<LogPosition>(snapshots_.stored.size());
    snapshots_.stored.push_back(write_message({.kind = message_kind::snapshot,
                                               .shard = 2,
                                               .cluster = 5,
                                               .term = 1,
                                               .sequence = 1,
                                               .node = kOwner,
                                               .epoch = first + 1,
                                               .body = body}));
    return {.number = first + 1, .node = kOwner, .first = first, .messages = 1, .start = start};
  }
  [[nodiscard]] ShardStart here() const { return {.position = log_.stored.size(), .state = state_}; }

  /// The copy as "key=value:flags:expiry ...", with a log that reports its end at once.
  std::string copied(const std::optional<SnapshotEntry>& from = {}) {
    ShardCopy copy{log_, snapshots_, kShard, from};
    log_.tell_end();
    return text_of(copy);
  }
  static std::string text_of(ShardCopy& copy) {
    ShardCopy::state state = copy.step();
    for (int i = 0; state == ShardCopy::state::reading && i < 3; ++i) {
      state = copy.step();
    }
    switch (state) {
      case ShardCopy::state::reading:
        return "reading";
      case ShardCopy::state::trimmed:
        return "trimmed";
      case ShardCopy::state::broken:
        return "broken: " + copy.wrong();
      case ShardCopy::state::whole:
        break;
    }
    std::string text;
    for (const auto& [key, item] : copy.items()) {
      text +=
          key + "=" + item.value + ":" + std::to_string(item.flags) + ":" + std::to_string(item.expiry) + " ";
    }
    return text;
  }

  TrimmedLog log_;
  TrimmedLog snapshots_;
  ShardState state_;
};

TEST_F(ShardCopyTest, HoldsWhatAYoungLogTells) {
  EXPECT_EQ(copied(), "");
  append(put("b", "2", 11) + put("a", "1", 10));
  append(body_of(TouchRecord{.order = 12, .key = "a", .expiry = 99}));
  append(put("c", "3", 13));
  append(body_of(GoneRecord{.order = 14, .key = "b"}));
  append(body_of(GoneRecord{.order = 15, .key = "never was"}));
  EXPECT_EQ(copied(), "a=1:3:99 c=3:3:0 ");
}

TEST_F(ShardCopyTest, HoldsAllKeysWhereTheLogWasTrimmed) {
  append(put("a", "1", 10) + put("b", "2", 11));
  const SnapshotEntry entry = snapshot(here(), put("a", "1", 10) + put("b", "5", 25) + put("c", "3", 12));
  append(put("b", "4", 20));  // the snapshot has a later version
  append(put("d", "6", 26));
  append(body_of(GoneRecord{.order = 27, .key = "c"}));
  log_.trim(entry.start.position);
  EXPECT_EQ(copied(entry), "a=1:3:0 b=5:3:0 d=6:3:0 ");
  EXPECT_EQ(copied(), "trimmed") << "without its snapshot the log is not enough";
}

TEST_F(ShardCopyTest, IsOfTheMomentInWhichTheEndWasAsked) {
  append(put("a", "1", 10));
  append(put("half", "1", 11).substr(0, 9), 0, 2);
  ShardCopy copy{log_, snapshots_, kShard, {}};
  EXPECT_EQ(text_of(copy), "reading");
  log_.tell_nothing();  // the brokers are busy, so they are asked again
  EXPECT_EQ(text_of(copy), "reading");
  log_.tell_end();
  append(put("half", "1", 11).substr(9), 1, 2);
  append(put("a", "2", 12));
  EXPECT_EQ(text_of(copy), "a=1:3:0 ");
  EXPECT_EQ(copy.end(), 3U);
  EXPECT_EQ(copied(), "a=2:3:0 half=1:3:0 ");
}

TEST_F(ShardCopyTest, OperationsOnRangesTakeWhatIsOlder) {
  const SnapshotEntry entry =
      snapshot(here(), put("a", "1", 10) + put("b", "2", 11) + put("b2", "new", 50) + put("c", "3", 12));
  append(body_of(RangeTouchRecord{.order = 20,
                                  .bounds = {.from = "a", .to = "b", .from_is_open = true},
                                  .moment_us = 5'000'000,
                                  .expiry = 77}));
  append(body_of(RangeTouchRecord{.order = 21,  // b is alive at 76 s, and expired at 77
                                  .bounds = {.has_no_end = true},
                                  .moment_us = 77'000'000,
                                  .expiry = 88}));
  EXPECT_EQ(copied(entry), "a=1:3:88 b=2:3:77 b2=new:3:0 c=3:3:88 ");
  append(body_of(RangeGoneRecord{.order = 30, .bounds = {.from = "a", .to = "c", .to_is_open = true}}));
  EXPECT_EQ(copied(entry), "b2=new:3:0 c=3:3:88 ");
  append(body_of(FlushRecord{.order = 40}));
  EXPECT_EQ(copied(entry), "b2=new:3:0 ");
}

TEST_F(ShardCopyTest, ReadsANewerSnapshotWhereTheOldOneWasTrimmedMeanwhile) {
  append(put("a", "1", 10));
  const SnapshotEntry first = snapshot(here(), put("a", "1", 10));
  append(put("b", "2", 11));
  const SnapshotEntry second = snapshot(here(), put("a", "1", 10) + put("b", "2", 11));
  append(put("c", "3", 12));
  log_.trim(second.start.position);
  EXPECT_EQ(copied(first), "trimmed");
  snapshots_.trim(second.first);
  EXPECT_EQ(copied(first), "trimmed");
  EXPECT_EQ(copied(second), "a=1:3:0 b=2:3:0 c=3:3:0 ");
}

TEST_F(ShardCopyTest, NothingIncompletePassesForACopy) {
  append(put("a", "1", 10));
  SnapshotEntry entry = snapshot(here(), put("a", "1", 10));
  entry.start.position = 50;
  EXPECT_EQ(
      copied(entry),
      "broken: its log ends at position 2, before its snapshot's, 50: these topics are copies with other "
      "offsets");
  append("no record");
  EXPECT_EQ(copied(), "broken: its log has a record of a type that owners never write");
  EXPECT_EQ(copied(snapshot(here(), put("a", "1", 10).substr(1))).substr(0, 27),
            "broken: its snapshot holds ");
}

// Each item of a snapshot was copied at its own moment between the snapshot's position and its last chunk.
TEST_F(ShardCopyTest, ASnapshotTakenWhileItemsChangeComesToTheSame) {
  std::mt19937 random{11};
  using Model = std::map<std::string, std::pair<std::string, std::uint64_t>>;
  std::vector<Model> at(1);  // by the number of changes
  std::uint64_t order = 1;
  for (int round = 0; round < 300; ++round) {
    Model model = at.back();
    const std::string key(1, static_cast<char>('a' + random() % 8));
    const std::string end(1, static_cast<char>('a' + random() % 8));
    const std::uint64_t what = random() % 10;
    ++order;
    if (what < 6) {
      append(put(key, std::to_string(order), order));
      model[key] = {std::to_string(order), order};
    } else if (what < 9) {
      append(body_of(GoneRecord{.order = order, .key = key}));
      model.erase(key);
    } else {
      append(body_of(RangeGoneRecord{.order = order, .bounds = {.from = key, .to = end}}));
      std::erase_if(model, [&](const auto& item) { return item.first >= key && item.first <= end; });
    }
    at.push_back(std::move(model));
  }
  std::string expected;
  for (const auto& [key, item] : at.back()) {
    expected += key + "=" + item.first + ":3:0 ";
  }
  for (int seed = 0; seed < 200; ++seed) {
    const std::size_t begin = random() % at.size();
    ShardStart start{.position = begin + 1, .state = {}};  // after the claim
    for (LogPosition i = 0; i < start.position; ++i) {
      static_cast<void>(start.state.take(parse_message(log_.stored[i], kShard).message));
    }
    std::string body;
    for (char key = 'a'; key <= 'h'; ++key) {
      const Model& then = at[begin + random() % (at.size() - begin)];
      if (const auto item = then.find(std::string(1, key)); item != then.end()) {
        body += put(item->first, item->second.first, item->second.second);
      }
    }
    const SnapshotEntry entry = snapshot(start, body);
    log_.trim(start.position);
    EXPECT_EQ(copied(entry), expected) << "snapshot at " << begin;
    log_.trim(0);
  }
}

}  // namespace
}  // namespace mxkv::test::shard_copies
