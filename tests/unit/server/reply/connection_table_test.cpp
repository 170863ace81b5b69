// Addresses stay good until the last operation ended; sessions are resumed when they should be.
#include "server/reply/connection_table.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/unit/server/reply/fixture.hpp"

namespace mxkv::server::test {
namespace {

class Directory : public testing::Test, private TaskSpawner {
 public:
  Directory() { directory.set_spawner(*this); }

  /// The owner of connections.
  struct Owner final : ConnectionOwner {
    explicit Owner(Directory& of) : test(of) {}
    Directory& test;
    void resume() override {
      test.resumed.push_back(this);
      if (test.on_resume != nullptr) {
        test.on_resume(test);
      }
    }
  };

  /// Starts an operation of a kind on key 1, as a session does.
  ReplyAddress start(ConnectionState& entry, operation_kind kind = operation_kind::read) {
    ReplyAddress address = directory.address(entry);
    const OrderClaim claim{kind, 1};
    EXPECT_TRUE(entry.order.try_start(claim));
    address.claim = claim.stored();
    address.ticket = entry.replies.open();
    return address;
  }

  Memory memory;
  std::vector<runtime::MxTask*> spawned;
  std::vector<ConnectionOwner*> resumed;
  void (*on_resume)(Directory&) = nullptr;
  ConnectionTable directory{3, memory.pool};
  Owner a{*this};
  Owner b{*this};

 private:
  void spawn(runtime::MxTask* task) override { spawned.push_back(task); }
};

TEST_F(Directory, ARowOfReadsEndsAtOnceAndLeavesInOrder) {
  ConnectionState& entry = directory.open(a);
  const ReplyAddress before = start(entry);
  const ReplyAddress first = start(entry);
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(start(entry));
  }
  const auto close_row = [&](std::uint32_t from, std::uint32_t reads, std::string_view text) {
    ReplyAddress address = first;
    address.ticket += from;
    const std::span<char> room = directory.reserve_row(address, Seen::nothing(), 100);
    ASSERT_GE(room.size(), 100U);
    text.copy(room.data(), text.size());
    directory.close_row(address, reads, room.data() + text.size());
  };
  close_row(0, 2, "one two ");
  close_row(2, 0, "");  // the next read is left to another writer
  entry.wants_resume = true;
  entry.resume_at = 4;
  directory.finished_row(first, 2);
  EXPECT_EQ(entry.ended, 2U);
  EXPECT_EQ(entry.order.in_flight(), 4U);
  EXPECT_EQ(resumed.size(), 1U);
  directory.reply(before, Seen::nothing(), "zero ");
  directory.finished(before);
  EXPECT_EQ(drain(entry.replies.output()), "zero one two ");
  close_row(2, 3, "three four five");
  ReplyAddress third = first;
  third.ticket += 2;
  entry.wants_resume = false;
  directory.finished_row(third, 3);
  EXPECT_EQ(drain(entry.replies.output()), "three four five");
  EXPECT_EQ(entry.order.in_flight(), 0U);
  const ReplyAddress late = start(entry);
  directory.close(entry);
  EXPECT_TRUE(directory.reserve_row(late, Seen::nothing(), 100).empty()) << "the connection is closed";
  directory.finished_row(late, 1);
}

TEST_F(Directory, ARowOfWritesEndsItsChangesAndItsTurns) {
  BegunChanges::Asked asked;
  std::size_t told = 0;
  asked.ended = [&told] { ++told; };
  BegunChanges changes{asked};
  directory.count_changes(changes);
  ConnectionState& entry = directory.open(a);
  const ReplyAddress first = directory.mark_changes(start(entry, operation_kind::write), 2);
  ReplyAddress last = start(entry, operation_kind::write);
  last.claim = first.claim;
  const CommitSeq seq = entry.commits.start_row(2);
  asked.period.store(1, std::memory_order_release);
  changes.look();
  const std::span<char> room = directory.reserve_row(first, Seen::nothing(), 100);
  ASSERT_GE(room.size(), 100U);
  directory.close_row(first, 1, room.data());
  directory.finished_row(first, seq, 1);
  EXPECT_EQ(entry.order.in_flight(), 1U);
  EXPECT_EQ(told, 0U) << "a change of the row is still under way";
  entry.replies.close(last.ticket);
  directory.finished_write(last, seq + 1);
  EXPECT_EQ(told, 1U);
  EXPECT_EQ(entry.order.in_flight() + entry.commits.in_flight(), 0U);
}

TEST_F(Directory, WholeRepliesLeaveInOrderWhereverTheyFindRoom) {
  ConnectionState& entry = directory.open(a);
  std::vector<ReplyAddress> asked;
  for (int i = 0; i < 240; ++i) {
    asked.push_back(start(entry));
  }
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 240; ++i) {
    texts.push_back(std::to_string(i) + std::string(static_cast<std::size_t>(i % 90), 'x'));
    expected += texts.back();
  }
  std::size_t next = 0;
  std::size_t early = 0;
  const auto answer = [&](std::size_t at) {
    char* out = directory.reserve_next(asked[at], Seen::nothing(), 200);
    const bool is_next = out != nullptr;
    out = is_next ? out : directory.reserve_early(asked[at], Seen::nothing(), 200);
    ASSERT_NE(out, nullptr);
    texts[at].copy(out, texts[at].size());
    if (is_next) {
      ++next;
      directory.answer_next(asked[at], out + texts[at].size());
    } else {
      ++early;
      directory.answer_early(asked[at], out + texts[at].size());
    }
  };
  for (std::size_t at = 0; at < 60; ++at) {
    answer(at);
  }
  for (std::size_t part = 60; part < 240; part += 20) {  // the first of each part comes last
    for (std::size_t at = part + 1; at < part + 20; ++at) {
      answer(at);
    }
    answer(part);
  }
  EXPECT_EQ(drain(entry.replies.output()), expected);
  EXPECT_GT(next, 50U);
  EXPECT_GE(early, 180U);
  EXPECT_TRUE(entry.replies.all_closed());
  EXPECT_EQ(entry.order.in_flight(), 0U);
  EXPECT_EQ(entry.ended, 240U);
  const ReplyAddress late = start(entry);
  directory.close(entry);
  EXPECT_EQ(directory.reserve_next(late, Seen::nothing(), 10), nullptr);
  EXPECT_EQ(directory.reserve_early(late, Seen::nothing(), 10), nullptr) << "nobody reads it";
  directory.finished(late);
}

TEST_F(Directory, ListsEachConnectionWithNewOutputOnce) {
  ConnectionState& first = directory.open(a);
  ConnectionState& second = directory.open(b);
  for (ConnectionState* entry : {&first, &second, &first}) {
    const ReplyAddress address = start(*entry);
    directory.reply(address, Seen::nothing(), "x");
    directory.finished(address);
  }
  ConnectionState* one = directory.next_dirty();
  ConnectionState* other = directory.next_dirty();
  ASSERT_NE(one, nullptr);
  ASSERT_NE(other, nullptr);
  EXPECT_NE(one, other);
  EXPECT_EQ(directory.next_dirty(), nullptr);
  EXPECT_EQ(drain(first.replies.output()), "xx");
  EXPECT_EQ(drain(second.replies.output()), "x");
}

TEST_F(Directory, NoreplyFindsNobody) {
  ConnectionState& entry = directory.open(a);
  ReplyAddress address = directory.address(entry);
  EXPECT_EQ(directory.find(address, Seen::nothing()), nullptr);
  directory.reply(address, Seen::nothing(), "x");
  EXPECT_EQ(entry.replies.unsent_bytes(), 0U);
}

TEST_F(Directory, AReplyThatMayBeLostMarksItsConnection) {
  static_assert(!std::is_default_constructible_v<Seen>, "a reply says what it has seen");
  const auto marks = [this](bool replies, const auto& write) {
    ConnectionState& entry = directory.open(a);
    const ReplyAddress address = replies ? start(entry) : directory.address(entry);
    write(address);
    const bool marked = entry.awaits_disk;
    directory.close(entry);
    if (replies) {
      directory.finished(address);
    }
    return marked;
  };
  const Seen lost = Seen::data(true);
  EXPECT_TRUE(marks(true, [&](const ReplyAddress& at) { EXPECT_NE(directory.find(at, lost), nullptr); }));
  EXPECT_TRUE(marks(true, [&](const ReplyAddress& at) { directory.reply(at, lost, "x"); }));
  EXPECT_TRUE(marks(true, [&](const ReplyAddress& at) { directory.show(at, lost); }));
  EXPECT_TRUE(marks(false, [&](const ReplyAddress& at) { EXPECT_EQ(directory.find(at, lost), nullptr); }))
      << "a later reply may tell of its success";
  EXPECT_FALSE(marks(true, [&](const ReplyAddress& at) {
    EXPECT_EQ(directory.reserve_next(at, lost, 10), nullptr);
    EXPECT_EQ(directory.reserve_early(at, lost, 10), nullptr);
  })) << "nothing happened";
  for (const Seen seen : {Seen::nothing(), Seen::data(false)}) {
    EXPECT_FALSE(marks(true, [&](const ReplyAddress& at) { EXPECT_NE(directory.find(at, seen), nullptr); }));
  }
}

TEST_F(Directory, ALateReplyToAClosedConnectionIsDroppedAndItsEntryThenReused) {
  ConnectionState& entry = directory.open(a);
  const ReplyAddress address = start(entry);
  const std::uint32_t generation = entry.generation;
  directory.close(entry);
  EXPECT_EQ(directory.entries(), 1U);
  ConnectionState& other = directory.open(b);
  EXPECT_NE(&other, &entry);
  EXPECT_EQ(directory.find(address, Seen::nothing()), nullptr);
  directory.reply(address, Seen::nothing(), "late");
  directory.finished(address);
  EXPECT_EQ(directory.entries(), 1U);
  ConnectionState& again = directory.open(a);
  EXPECT_EQ(&again, &entry);
  EXPECT_NE(again.generation, generation);
  EXPECT_EQ(again.replies.unsent_bytes(), 0U);
}

TEST_F(Directory, WritesOfAClosedConnectionStillCommitInOrder) {
  ConnectionState& entry = directory.open(a);
  const ReplyAddress first = start(entry, operation_kind::write);
  const ReplyAddress second = start(entry, operation_kind::write);
  const CommitSeq first_seq = entry.commits.start();
  const CommitSeq second_seq = entry.commits.start();
  auto* const task = reinterpret_cast<runtime::MxTask*>(&b);
  EXPECT_FALSE(directory.commit_turn(second, second_seq));
  directory.await_commit(second, second_seq, task);
  directory.close(entry);
  EXPECT_TRUE(directory.commit_turn(first, first_seq));
  directory.finished_write(first, first_seq);
  EXPECT_EQ(spawned, std::vector<runtime::MxTask*>{task});
  EXPECT_TRUE(directory.commit_turn(second, second_seq));
  directory.finished_write(second, second_seq);
  EXPECT_EQ(directory.entries(), 0U);
}

TEST_F(Directory, ResumesASessionOnlyIfItAskedAndSomethingWasFreed) {
  ConnectionState& entry = directory.open(a);
  const ReplyAddress first = start(entry);
  const ReplyAddress second = start(entry);
  const ReplyAddress third = start(entry);
  directory.finished(first);
  EXPECT_TRUE(resumed.empty());
  entry.wants_resume = true;
  entry.resume_at = 0;
  directory.finished(second);
  directory.finished(third);
  EXPECT_EQ(resumed, std::vector<ConnectionOwner*>{&a});
}

TEST_F(Directory, DoesNotRunTheHookInsideItself) {
  ConnectionState& entry = directory.open(a);
  entry.wants_resume = true;
  static int left;
  static int depth;
  left = 1000;
  depth = 0;
  on_resume = [](Directory& test) {
    EXPECT_EQ(++depth, 1);
    ConnectionState& same = *test.directory.next_dirty();
    if (left-- > 0) {
      const ReplyAddress address = test.start(same);
      test.directory.reply(address, Seen::nothing(), "x");
      test.directory.finished(address);
    }
    --depth;
  };
  const ReplyAddress address = start(entry);
  directory.reply(address, Seen::nothing(), "x");
  directory.finished(address);
  EXPECT_EQ(drain(entry.replies.output()).size(), 1001U);
}

TEST_F(Directory, AConnectionMayBeClosedByItsHook) {
  ConnectionState& entry = directory.open(a);
  entry.wants_resume = true;
  on_resume = [](Directory& test) { test.directory.close(*test.directory.next_dirty()); };
  const ReplyAddress address = start(entry);
  directory.reply(address, Seen::nothing(), "x");
  directory.finished(address);
  EXPECT_EQ(directory.entries(), 0U);
}

/// A connection with most of the replies, and another one.
class ReplyRoom : public ::testing::Test {
 protected:
  runtime::MemoryBudget budget{16 << 20U, 1};
  BlockPool pool{budget, budget.account(runtime::WorkerId{0}), runtime::memory_category::output, 1024};
  ConnectionTable directory{0, pool};
  struct Owner final : ConnectionOwner {
    void resume() override {}
  };
  Owner session;
  ConnectionState& hoarder = directory.open(session);
  ConnectionState& other = directory.open(session);
};

TEST_F(ReplyRoom, TheOneWithMostRepliesLosesThemAndOthersKeepTheirs) {
  const auto address = [this](ConnectionState& entry) {
    ReplyAddress result = directory.address(entry);
    result.ticket = entry.replies.open();
    return result;
  };
  const std::string text(8000, 'r');
  directory.reply(address(other), Seen::nothing(), "few");
  for (std::size_t i = 0; i < 12 * pool.share().bytes() / text.size(); ++i) {
    directory.reply(address(hoarder), Seen::nothing(), text);
  }
  EXPECT_TRUE(hoarder.life.is(life_stage::silenced));
  EXPECT_TRUE(other.life.is(life_stage::serving));
  EXPECT_EQ(directory.find(address(hoarder), Seen::nothing()), nullptr);
  EXPECT_EQ(hoarder.replies.unsent_bytes(), 0U);
  EXPECT_EQ(drain(other.replies.output()), "few");
  EXPECT_LE(budget.category_bytes(runtime::memory_category::output), 8 * pool.share().bytes());
  directory.close(hoarder);
  directory.close(other);
  while (directory.next_dirty() != nullptr) {
  }
  EXPECT_TRUE(directory.open(session).life.is(life_stage::serving)) << "the next one begins anew";
}

/// Many connections of one worker, whose replies are more than the share holds.
class ReplyWalks : public ReplyRoom {
 protected:
  ~ReplyWalks() override {
    for (ConnectionState* const entry : many) {
      directory.close(*entry);
    }
    directory.close(hoarder);
    directory.close(other);
    while (directory.next_dirty() != nullptr) {
    }
  }
  void open(std::size_t connections) {
    while (many.size() < connections) {
      many.push_back(&directory.open(session));
    }
  }
  void reply(ConnectionState& entry) {
    ReplyAddress address = directory.address(entry);
    address.ticket = entry.replies.open();
    directory.reply(address, Seen::nothing(), text);
  }
  [[nodiscard]] std::size_t silenced() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        many, [](const ConnectionState* entry) { return entry->life.is(life_stage::silenced); }));
  }

  const std::string text = std::string(8000, 'r');
  std::vector<ConnectionState*> many;
};

TEST_F(ReplyWalks, BlocksPayForWalksThatFindNobody) {
  open(4000);
  std::size_t blocks = 0;
  for (; pool.share().held() < 12 * pool.share().bytes(); ++blocks) {
    reply(*many[blocks]);  // each has less than a block
    ASSERT_TRUE(many[blocks]->life.is(life_stage::serving));
  }
  EXPECT_GT(blocks, 200U);
  EXPECT_GE(directory.walks(), 1U);
  EXPECT_LE(directory.walks(), 1 + blocks * 64 / many.size());
}

TEST_F(ReplyWalks, OneWalkFindsManyThatHaveToBeSilenced) {
  open(1000);
  for (std::size_t i = 0; silenced() < 40; ++i) {
    reply(*many[i / 4 % many.size()]);  // four each, which is more than a block
    ASSERT_LT(i, 100'000U);
  }
  EXPECT_EQ(directory.walks(), 1U);
  EXPECT_TRUE(other.life.is(life_stage::serving));
}

TEST_F(ReplyWalks, AConnectionThatHasSentRepliesSinceTheWalkIsSpared) {
  open(20);
  for (std::size_t i = 0; directory.walks() == 0; ++i) {
    reply(*many[i % many.size()]);
    ASSERT_LT(i, 100'000U);
  }
  ASSERT_EQ(silenced(), 1U);
  ConnectionState* reader = nullptr;
  for (ConnectionState* const entry : many) {
    if (entry->life.is(life_stage::serving)) {
      reader = entry;
      static_cast<void>(drain(entry->replies.output()));
      break;
    }
  }
  ASSERT_NE(reader, nullptr);
  for (std::size_t i = 0; silenced() + 1 < many.size() && i < 10'000; ++i) {
    reply(*many[i % many.size()]);
    static_cast<void>(drain(reader->replies.output()));
  }
  EXPECT_TRUE(reader->life.is(life_stage::serving));
  EXPECT_GT(silenced(), 5U) << "others had more in their place";
}

TEST_F(ReplyRoom, ValuesWaitWhileTheShareIsFullUnlessTheConnectionHasNothingUnsent) {
  const std::string text(8000, 'r');
  const auto waits = [this](ConnectionState& entry, std::uint32_t ticket) {
    ReplyAddress at = directory.address(entry);
    at.ticket = ticket;
    return directory.waits_for_room(at);
  };
  EXPECT_FALSE(waits(hoarder, hoarder.replies.next_ticket()));
  while (!pool.share().is_full()) {
    ReplyAddress address = directory.address(hoarder);
    address.ticket = hoarder.replies.open();
    directory.reply(address, Seen::nothing(), text);
  }
  EXPECT_TRUE(hoarder.life.is(life_stage::serving));
  const std::uint32_t next = hoarder.replies.open();
  EXPECT_TRUE(waits(hoarder, next)) << "much of it is unsent";
  const std::uint32_t first = other.replies.open();
  const std::uint32_t second = other.replies.open();
  EXPECT_FALSE(waits(other, first));
  EXPECT_TRUE(waits(other, second)) << "the first one goes before it";
  drain(hoarder.replies.output());
  EXPECT_FALSE(waits(hoarder, next));
  directory.close(hoarder);
  directory.close(other);
  while (directory.next_dirty() != nullptr) {
  }
}

}  // namespace
}  // namespace mxkv::server::test
