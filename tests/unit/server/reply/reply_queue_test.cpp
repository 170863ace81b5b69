// Replies leave in request order, in whatever order they are written.
#include "server/reply/reply_queue.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>
#include <random>
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
