// Many pieces become one reply, whether it is the oldest or staged, and whatever blocks they need.
#include "server/reply/reply_writer.hpp"

#include <cstring>
#include <random>

#include "tests/unit/server/reply/fixture.hpp"

namespace mxkv::server::test {
namespace {

/// Writes pieces of up to `most` bytes to a ticket; returns what it wrote.
std::string write_pieces(ReplyQueue& replies, std::uint32_t ticket, std::size_t pieces, std::size_t most,
                         std::mt19937& random) {
  std::string all;
  ReplyWriter writer{&replies, ticket};
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::string piece(random() % most, static_cast<char>('a' + random() % 26));
    char* const to = writer.reserve(piece.size() + random() % 100);
    std::memcpy(to, piece.data(), piece.size());
    writer.commit(to + piece.size());
    all += piece;
    if (random() % 8 == 0) {
      writer.flush();
      replies.append(ticket, "|");
      all += "|";
    }
  }
  return all;
}

TEST(ReplyWriter, PiecesOfTheOldestAndOfYoungerRepliesArriveWholeAndInOrder) {
  std::mt19937 random{11};
  Memory memory;
  ReplyQueue replies{memory.pool};
  for (int round = 0; round < 50; ++round) {
    const std::size_t most = round % 5 == 0 ? 9000 : 200;
    const std::uint32_t tickets[] = {replies.open(), replies.open(), replies.open()};
    std::string expected[3];
    for (int turn = 0; turn < 4; ++turn) {
      for (const std::size_t i : {2U, 0U, 1U}) {
        expected[i] += write_pieces(replies, tickets[i], random() % 60, most, random);
      }
    }
    EXPECT_EQ(replies.unsent_bytes(), expected[0].size() + expected[1].size() + expected[2].size());
    replies.close(tickets[2]);
    replies.close(tickets[0]);
    expected[1] += write_pieces(replies, tickets[1], 5, most, random);  // in the output by now
    replies.close(tickets[1]);
    ASSERT_EQ(drain(replies.output()), expected[0] + expected[1] + expected[2]);
    ASSERT_EQ(replies.unsent_bytes(), 0U);
  }
  EXPECT_EQ(memory.pool.share().held(), 0U);
}

TEST(ReplyWriter, WithoutAPieceItWritesNothing) {
  Memory memory;
  ReplyQueue replies{memory.pool};
  const auto ticket = replies.open();
  {
    const ReplyWriter writer{&replies, ticket};
  }
  EXPECT_EQ(replies.unsent_bytes(), 0U);
  EXPECT_EQ(memory.pool.free_blocks(), 0U);
}

}  // namespace
}  // namespace mxkv::server::test
