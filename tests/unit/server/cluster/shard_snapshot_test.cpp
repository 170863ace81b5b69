// Snapshots by hand: a log in memory that stores, refuses or loses messages as the test says.
#include "server/cluster/shard_snapshot.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mxkv::test {
namespace {

using namespace server;

constexpr MessageScope kShard{.cluster = 9, .shard = 4};

class ListLog final : public OrderedLog {
 public:
  void append(std::string bytes, AppendDone done) override {
    stored.push_back(std::move(bytes));
    answers.emplace_back(stored.size() - 1, std::move(done));
  }
  void read(LogPosition from, LogSink& sink) override {
    if (from < begin) {
      sink.begins_later();
      return;
    }
    reads = true;
    for (LogPosition at = from; reads && at < stored.size(); ++at) {
      sink.message(at, stored[at]);
    }
  }
  void stop() override { reads = false; }
  void end(EndDone /*done*/) override {}
  void trim(LogPosition before) override { begin = before; }

  void answer_all(append_outcome outcome = append_outcome::stored) {
    for (const auto& [position, done] : std::exchange(answers, {})) {
      done({outcome, position});
    }
  }

  std::vector<std::string> stored;
  std::deque<std::pair<LogPosition, AppendDone>> answers;
  LogPosition begin = 0;
  bool reads = false;
};

/// So many pieces of one item each; now and then no piece is ready.
class Pieces final : public SnapshotSource {
 public:
  explicit Pieces(int count, bool fails = false) : left_(count), fails_(fails) {}
  state next(std::string& piece, std::uint64_t& items) override {
    if (std::exchange(busy_, !busy_)) {
      return state::busy;
    }
    if (left_ == 0) {
      return fails_ ? state::failed : state::end;
    }
    piece = "piece " + std::to_string(left_--);
    ++items;
    return state::piece;
  }

 private:
  int left_;
  bool fails_;
  bool busy_ = false;
};

ShardStart some_start() {
  return {.position = 77,
          .state = ShardState::restored(5, 1234567890123, 18, 99, 3'000'000'000, 20'000'000'000)};
}

SnapshotEntry write(ListLog& log, std::uint64_t number, int pieces) {
  SnapshotWriter writer{log, kShard, 7, number, some_start(), std::make_unique<Pieces>(pieces)};
  for (int i = 0; i < 1000; ++i) {
    if (writer.step() == SnapshotWriter::state::stored) {
      return writer.entry();
    }
    EXPECT_LE(log.answers.size(), SnapshotWriter::kMostUnderWay);
    log.answer_all();
  }
  ADD_FAILURE() << "it does not end";
  return {};
}

std::string read(ListLog& log, const SnapshotEntry& entry, SnapshotLoader::state ends) {
  std::string all;
  const SnapshotLoader loader{log, kShard, entry, [&all](std::string_view body) {
                                all += body;
                                all += '\n';
                              }};
  EXPECT_EQ(loader.now(), ends);
  return all;
}

TEST(ShardSnapshot, IsReadAsItWasWritten) {
  ListLog log;
  log.stored = {"what others wrote", "before it"};
  const SnapshotEntry entry = write(log, 11, 20);
  EXPECT_EQ(entry.first, 2U);
  EXPECT_EQ(entry.messages, 20U);
  EXPECT_EQ(entry.items, 20U);
  EXPECT_EQ(entry.start.position, 77U);
  std::string expected;
  for (int i = 20; i > 0; --i) {
    expected += "piece " + std::to_string(i) + '\n';
  }
  EXPECT_EQ(read(log, entry, SnapshotLoader::state::loaded), expected);
}

TEST(ShardSnapshot, PartsOfAnotherOneInBetweenAreLeftOut) {
  ListLog log;
  const SnapshotEntry first = write(log, 11, 3);
  const SnapshotEntry second = write(log, 12, 2);
  // As if both had been written at the same time, and an acknowledgement of one of them was lost.
  std::vector<std::string> mixed;
  for (std::size_t i = 0; i < 3; ++i) {
    mixed.push_back(log.stored[i]);
    mixed.push_back(log.stored[i]);
    if (i < 2) {
      mixed.push_back(log.stored[3 + i]);
    }
  }
  log.stored = mixed;
  SnapshotEntry later = second;
  later.first = 2;
  EXPECT_EQ(read(log, first, SnapshotLoader::state::loaded), "piece 3\npiece 2\npiece 1\n");
  EXPECT_EQ(read(log, later, SnapshotLoader::state::loaded), "piece 2\npiece 1\n");
}

/// One piece that is larger than a message.
class LargePiece final : public SnapshotSource {
 public:
  state next(std::string& piece, std::uint64_t& items) override {
    if (std::exchange(given_, true)) {
      return state::end;
    }
    piece.assign(2 * SnapshotWriter::kPartBytes + 5, 'x');
    piece.back() = 'y';
    items = 1;
    return state::piece;
  }

 private:
  bool given_ = false;
};

TEST(ShardSnapshot, ALargePieceIsReadAsOne) {
  ListLog log;
  SnapshotWriter writer{log, kShard, 7, 11, some_start(), std::make_unique<LargePiece>()};
  EXPECT_EQ(writer.step(), SnapshotWriter::state::writing);
  log.answer_all();
  ASSERT_EQ(writer.step(), SnapshotWriter::state::stored);
  EXPECT_EQ(writer.entry().messages, 3U);
  std::vector<std::string> bodies;
  const SnapshotLoader loader{log, kShard, writer.entry(),
                              [&bodies](std::string_view body) { bodies.emplace_back(body); }};
  EXPECT_EQ(loader.now(), SnapshotLoader::state::loaded);
  ASSERT_EQ(bodies.size(), 1U);
  EXPECT_EQ(bodies[0].size(), 2 * SnapshotWriter::kPartBytes + 5);
  EXPECT_EQ(bodies[0].back(), 'y');
}

TEST(ShardSnapshot, OneWithoutItemsIsWhole) {
  ListLog log;
  const SnapshotEntry entry = write(log, 11, 0);
  EXPECT_EQ(entry.messages, 0U);
  EXPECT_EQ(read(log, entry, SnapshotLoader::state::loaded), "");
}

TEST(ShardSnapshot, IsNotWholeWhereAPartIsMissing) {
  ListLog log;
  const SnapshotEntry entry = write(log, 11, 3);
  ListLog torn;
  torn.stored = {log.stored[0], log.stored[2]};
  EXPECT_EQ(read(torn, entry, SnapshotLoader::state::failed), "piece 3\n");
  torn.stored = {log.stored[0], log.stored[1]};
  EXPECT_EQ(read(torn, entry, SnapshotLoader::state::reading), "piece 3\npiece 2\n");
  log.trim(1);
  EXPECT_EQ(read(log, entry, SnapshotLoader::state::failed), "");
}

TEST(ShardSnapshot, IsNoneWhereItsLogOrItsItemsFail) {
  ListLog log;
  SnapshotWriter refused{log, kShard, 7, 11, some_start(), std::make_unique<Pieces>(3)};
  EXPECT_EQ(refused.step(), SnapshotWriter::state::writing);
  log.answer_all(append_outcome::unknown);
  EXPECT_EQ(refused.step(), SnapshotWriter::state::failed);

  SnapshotWriter lost{log, kShard, 7, 12, some_start(), std::make_unique<Pieces>(1, true)};
  SnapshotWriter::state state = lost.step();
  for (int i = 0; i < 10 && state == SnapshotWriter::state::writing; ++i) {
    log.answer_all();
    state = lost.step();
  }
  EXPECT_EQ(state, SnapshotWriter::state::failed);
}

TEST(ShardSnapshot, AnswersMayComeBehindItsEnd) {
  ListLog log;
  {
    SnapshotWriter writer{log, kShard, 7, 11, some_start(), std::make_unique<Pieces>(3)};
    EXPECT_EQ(writer.step(), SnapshotWriter::state::writing);
  }
  log.answer_all();
}

TEST(ShardSnapshot, TheBoardsEntryDescribesItCompletely) {
  const SnapshotEntry entry{.number = 1'800'000'000'000'000,
                            .node = 0xFEDCBA9876543211,
                            .first = 12,
                            .messages = 3,
                            .items = 4000,
                            .bytes = 5'000'000'000,
                            .start = some_start(),
                            .before = 70};
  EXPECT_EQ(parse_snapshot_entry(write_snapshot_entry(entry)), entry);
  EXPECT_EQ(parse_snapshot_entry("{}"), std::nullopt);
  EXPECT_EQ(parse_snapshot_entry("no"), std::nullopt);
  for (const char* value : {"-1", "1e300", "0.5"}) {
    std::string other = write_snapshot_entry(entry);
    const std::size_t at = other.find("\"first\":") + 8;
    other.replace(at, other.find_first_of(",}", at) - at, value);
    EXPECT_EQ(parse_snapshot_entry(other), std::nullopt) << other;
  }
  EXPECT_EQ(shard_of_snapshot_key(snapshot_key(17)), 17U);
  EXPECT_EQ(shard_of_snapshot_key("snapshot/x"), std::nullopt);
  EXPECT_EQ(shard_of_snapshot_key("node/17"), std::nullopt);
}

}  // namespace
}  // namespace mxkv::test
