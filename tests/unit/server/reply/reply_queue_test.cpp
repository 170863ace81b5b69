// Replies leave in request order, in whatever order they are written.
#include "server/reply/reply_queue.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/server/reply/fixture.hpp"

namespace mxkv::server::test {
namespace {

void write_reply(ReplyQueue& replies, std::uint32_t ticket, std::string_view text) {
  char* const to = replies.reserve(ticket, text.size() + 17);
  std::memcpy(to, text.data(), text.size());
  replies.commit(ticket, to + text.size());
}

TEST(ReplyQueue, SendsNothingOfAYoungerReplyBeforeTheOlderIsClosed) {
  Memory memory;
  ReplyQueue replies{memory.pool};
  const auto first = replies.open();
  const auto second = replies.open();
  write_reply(replies, second, "second");
  replies.close(second);
  EXPECT_EQ(drain(replies.output()), "");
  EXPECT_EQ(replies.unsent_bytes(), 6U);
  write_reply(replies, first, "first ");
  EXPECT_EQ(drain(replies.output()), "first ");
  EXPECT_FALSE(replies.all_closed());
  replies.close(first);
  EXPECT_EQ(drain(replies.output()), "second");
  EXPECT_TRUE(replies.all_closed());
  EXPECT_EQ(replies.unsent_bytes(), 0U);
}

TEST(ReplyQueue, AStagedReplyGoesOnInTheOutputWhenItBecomesTheOldest) {
  Memory memory;
  ReplyQueue replies{memory.pool};
  const auto first = replies.open();
  const auto second = replies.open();
  write_reply(replies, second, "staged ");
  write_reply(replies, first, "first ");
  replies.close(first);
  write_reply(replies, second, "direct");
  replies.close(second);
  EXPECT_EQ(drain(replies.output()), "first staged direct");
}

/// Writes `tickets` replies in a row.
void write_row(ReplyQueue& replies, std::uint32_t first, std::uint32_t tickets, std::string_view text) {
  const std::span<char> room = replies.reserve_all(first, text.size() + 1);
  std::memcpy(room.data(), text.data(), text.size());
  replies.close_row(first, tickets, room.data() + text.size());
}

TEST(ReplyQueue, RowsWrittenInPlaceLeaveInOrderHoweverLongTheyAre) {
  for (const std::size_t bytes : {0U, 30U, 5000U}) {
    Memory memory;
    ReplyQueue replies{memory.pool};
    const std::uint32_t first = replies.open_row(9);  // 1, a row of 3, 1, a row of 4
    const std::string text(bytes, 'r');
    write_row(replies, first + 5, 4, text);
    write_row(replies, first + 1, 3, text);
    EXPECT_EQ(drain(replies.output()), "");
    write_reply(replies, first, "first ");
    replies.close(first);
    EXPECT_EQ(drain(replies.output()), "first " + text);
    EXPECT_TRUE(replies.is_oldest(first + 4));
    write_reply(replies, first + 4, " next ");
    replies.close(first + 4);
    EXPECT_EQ(drain(replies.output()), " next " + text);
    EXPECT_TRUE(replies.all_closed());
    write_row(replies, replies.open_row(2), 2, text);
    EXPECT_EQ(drain(replies.output()), text);
    EXPECT_TRUE(replies.all_closed());
  }
}

TEST(ReplyQueue, RowsThatAreStagedGoWithTheRest) {
  Memory memory;
  ReplyQueue replies{memory.pool};
  const std::uint32_t first = replies.open_row(6);
  write_row(replies, first + 3, 2, "three, four");
  write_row(replies, first + 1, 2, std::string(3000, 'x'));
  replies.clear();
  EXPECT_TRUE(replies.all_closed());
  EXPECT_EQ(memory.pool.share().held(), 0U);
}

TEST(ReplyQueue, AWholeReplyHasRoomAtOnceOnlyWhereNothingIsBeforeItOrStaged) {
  Memory memory;
  ReplyQueue replies{memory.pool};
  ASSERT_TRUE(replies.opens_in_row(4));
  const auto first = replies.open_row(4);
  EXPECT_EQ(replies.next_ticket(), first + 4);
  EXPECT_EQ(replies.reserve_next(first, 10), nullptr) << "there is no block yet";
  write_reply(replies, first, "first ");
  char* const room = replies.reserve_next(first, 10);
  ASSERT_NE(room, nullptr);
  EXPECT_EQ(replies.reserve_next(first, BlockPool::kBlockBytes), nullptr) << "no block has so much";
  std::memcpy(room, "more ", 5);
  replies.close_next(room + 5);
  EXPECT_EQ(replies.reserve_next(first + 2, 10), nullptr) << "one is before it";
  write_reply(replies, first + 2, "third");
  replies.close(first + 2);
  EXPECT_EQ(replies.reserve_next(first + 1, 10), nullptr) << "one behind it is staged";
  write_reply(replies, first + 1, "second ");
  replies.close(first + 1);
  EXPECT_NE(replies.reserve_next(first + 3, 10), nullptr);
  replies.close(first + 3);
  EXPECT_EQ(drain(replies.output()), "first more second third");
  EXPECT_TRUE(replies.all_closed());
}

TEST(ReplyQueue, AReplyMayBeEmpty) {
  Memory memory;
  ReplyQueue replies{memory.pool};
  const auto first = replies.open();
  const auto second = replies.open();
  const auto third = replies.open();
  replies.close(second);
  write_reply(replies, third, "third");
  replies.close(third);
  replies.close(first);
  EXPECT_EQ(drain(replies.output()), "third");
  EXPECT_TRUE(replies.all_closed());
}

TEST(ReplyQueue, KeepsRequestOrderUnderAnyOrderOfWriting) {
  std::mt19937 random{7};
  Memory memory;
  ReplyQueue replies{memory.pool};
  std::deque<Owned> owned;
  std::string expected;
  std::string sent;
  for (int round = 0; round < 100; ++round) {
    struct Reply {
      std::uint32_t ticket;
      std::vector<std::string> parts;
      std::size_t written = 0;
      bool by_reference = false;
    };
    std::vector<Reply> open(1 + random() % 300);
    std::vector<std::size_t> steps;
    for (std::size_t i = 0; i < open.size(); ++i) {
      open[i].ticket = replies.open();
      open[i].by_reference = random() % 16 == 0;
      for (auto parts = random() % 4; parts > 0; --parts) {
        open[i].parts.emplace_back(random() % 16 == 0 ? random() % 20'000 : random() % 100,
                                   static_cast<char>('a' + random() % 26));
        expected += open[i].parts.back();
      }
      steps.insert(steps.end(), open[i].parts.size() + 1, i);
    }
    // Nearly in order at one end, any order at the other.
    const std::size_t reach = round % 3 == 0 ? steps.size() : 1 + random() % 20;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::swap(steps[i], steps[std::min(steps.size() - 1, i + random() % reach)]);
    }
    for (const std::size_t i : steps) {
      Reply& reply = open[i];
      if (reply.written == reply.parts.size()) {
        replies.close(reply.ticket);
      } else if (reply.by_reference) {
        owned.push_back({reply.parts[reply.written++]});
        replies.append_owned(reply.ticket, owned.back().bytes.data(), owned.back().bytes.size(),
                             owned.back().ref());
      } else if (random() % 2 == 0) {
        replies.append(reply.ticket, reply.parts[reply.written++]);
      } else {
        write_reply(replies, reply.ticket, reply.parts[reply.written++]);
      }
      if (random() % 64 == 0) {
        sent += drain(replies.output(), 1000);
      }
    }
    ASSERT_TRUE(replies.all_closed());
    sent += drain(replies.output());
    ASSERT_EQ(replies.unsent_bytes(), 0U);
  }
  EXPECT_EQ(sent, expected);
  EXPECT_TRUE(std::all_of(owned.begin(), owned.end(), [](const Owned& o) { return o.released == 1; }));
}

TEST(ReplyQueue, AnIdleQueueHoldsNoBlock) {
  Memory memory;
  ReplyQueue replies{memory.pool};
  std::vector<std::uint32_t> tickets(600);
  std::generate(tickets.begin(), tickets.end(), [&] { return replies.open(); });
  std::for_each(tickets.rbegin(), tickets.rend(), [&](std::uint32_t ticket) {
    write_reply(replies, ticket, "reply");
    replies.close(ticket);
  });
  EXPECT_EQ(drain(replies.output()).size(), 600U * 5U);
  const std::size_t held = memory.budget.category_bytes(runtime::memory_category::output);
  EXPECT_EQ(held, memory.pool.free_blocks() * BlockPool::kBlockBytes);
}

TEST(ReplyQueue, ALongStagedPieceLeavesFromWhereItWasWritten) {
  Memory memory;
  ReplyQueue replies{memory.pool};
  const auto first = replies.open();
  const auto second = replies.open();
  const auto third = replies.open();
  const std::string page(9000, 'p');
  char* const staged = replies.reserve(second, page.size());
  std::memcpy(staged, page.data(), page.size());
  replies.commit(second, staged + page.size());
  write_reply(replies, second, " end ");
  write_reply(replies, third, "third");
  replies.close(third);
  replies.close(second);
  write_reply(replies, first, "first ");
  replies.close(first);
  std::array<iovec, 8> pieces;
  const std::size_t count = replies.output().gather(pieces);
  EXPECT_TRUE(std::any_of(pieces.begin(), pieces.begin() + count, [&](const iovec& piece) {
    return piece.iov_base == staged && piece.iov_len == page.size();
  }));
  const auto fourth = replies.open();
  write_reply(replies, fourth, " fourth");
  replies.close(fourth);
  EXPECT_EQ(replies.copied_bytes(), replies.unsent_bytes());
  EXPECT_EQ(drain(replies.output(), 1001), "first " + page + " end third fourth");
  EXPECT_EQ(memory.pool.share().held(), 0U);
}

TEST(ReplyQueue, HandedOverRepliesAreDroppedWithTheRest) {
  Memory memory;
  ReplyQueue replies{memory.pool};
  const auto first = replies.open();
  const auto second = replies.open();
  const auto third = replies.open();
  for (const auto ticket : {third, second}) {
    replies.append(ticket, std::string(9000, 'p'));
  }
  replies.close(first);
  replies.close(second);
  EXPECT_GT(replies.output().unsent_bytes(), 9000U);
  replies.clear();
  EXPECT_EQ(replies.unsent_bytes(), 0U);
  EXPECT_EQ(memory.pool.share().held(), 0U);
}

TEST(ReplyQueue, TheRestOfAReplyHandedOverSettlesInASmallBlock) {
  for (const bool more : {false, true}) {
    Memory memory;
    ReplyQueue replies{memory.pool};
    const auto first = replies.open();
    const auto second = replies.open();
    replies.append(second, std::string(4000, 'p'));
    replies.close(first);
    if (more) {
      write_reply(replies, second, " and more");
    }
    replies.close(second);
    replies.output().consume(3900);
    replies.output().compact();
    EXPECT_LT(memory.pool.share().held(), BlockPool::kSmallBlockBytes + 2 * BlockPool::kOwnedBytes + 1);
    const auto third = replies.open();
    write_reply(replies, third, " third");
    replies.close(third);
    EXPECT_EQ(drain(replies.output(), 7), std::string(100, 'p') + (more ? " and more" : "") + " third");
    EXPECT_EQ(memory.pool.share().held(), 0U);
  }
}

TEST(ReplyQueue, ClearingDropsStagedAndOwnedReplies) {
  Memory memory;
  Owned direct{"direct"};
  Owned staged{"staged"};
  {
    ReplyQueue replies{memory.pool};
    const auto first = replies.open();
    const auto second = replies.open();
    const auto third = replies.open();
    replies.append_owned(third, staged.bytes.data(), staged.bytes.size(), staged.ref());
    write_reply(replies, second, "lost");
    replies.append_owned(first, direct.bytes.data(), direct.bytes.size(), direct.ref());
    replies.clear();
    EXPECT_EQ(replies.unsent_bytes(), 0U);
    const auto fourth = replies.open();
    write_reply(replies, fourth, "after");
    replies.close(fourth);
    EXPECT_EQ(drain(replies.output()), "after");
  }
  EXPECT_EQ(direct.released, 1);
  EXPECT_EQ(staged.released, 1);
}

}  // namespace
}  // namespace mxkv::server::test
