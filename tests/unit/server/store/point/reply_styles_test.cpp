// The two styles of a reply: a request's result in classic words, and with the flags that a client wants.
#include <string>

#include "server/store/point/meta_reply.hpp"
#include "server/store/point/text_reply.hpp"
#include "tests/unit/protocol/parsed_line.hpp"
#include "tests/unit/server/reply/fixture.hpp"
#include "tests/unit/server/store/item_maker.hpp"

namespace mxkv::server::test {
namespace {

class ReplyStyles : public ItemTest {
 protected:
  /// The reply to `line` when its result is this one; `shown`: the item that is there then.
  std::string said(const std::string& line, point_result result, std::uint64_t number = 0) {
    const protocol::ParsedLine parsed(line + "\r\n");
    EXPECT_TRUE(parsed.accepted()) << line;
    const protocol::PointRequest request = protocol::point_request(*parsed.operator->());
    const ItemTest::Owned shown = make({.key = "k", .flags = 9, .cas_field = true, .cas = 5}, "12");
    const ItemTest::Owned sent = make({.key = "k"}, "abc");
    const MetaFindings findings = MetaFindings::of(*shown);
    const PointOutcome outcome{.request = request,
                               .result = result,
                               .number = number,
                               .shown = &*shown,
                               .sent = &*sent,
                               .findings = &findings};
    Memory memory;
    ReplyQueue replies{memory.pool};
    const std::uint32_t ticket = replies.open();
    if (request.is_meta() && !outcome.is_error()) {
      write_meta_reply(replies, ticket, outcome, worker());
    } else {
      write_text_reply(replies, ticket, outcome, worker());
    }
    replies.close(ticket);
    return drain(replies.output());
  }
};

TEST_F(ReplyStyles, ClassicWordsTellTheResult) {
  EXPECT_EQ(said("set k 0 0 3", point_result::stored), "STORED\r\n");
  EXPECT_EQ(said("add k 0 0 3", point_result::not_stored), "NOT_STORED\r\n");
  EXPECT_EQ(said("cas k 0 0 3 5", point_result::exists), "EXISTS\r\n");
  EXPECT_EQ(said("cas k 0 0 3 5", point_result::not_found), "NOT_FOUND\r\n");
  EXPECT_EQ(said("delete k", point_result::deleted), "DELETED\r\n");
  EXPECT_EQ(said("touch k 0", point_result::touched), "TOUCHED\r\n");
  EXPECT_EQ(said("incr k 1", point_result::number, 42), "42\r\n");
  EXPECT_EQ(said("gat 0 k", point_result::value), "VALUE k 9 2\r\n12\r\nEND\r\n");
  EXPECT_EQ(said("gats 0 k", point_result::value), "VALUE k 9 2 5\r\n12\r\nEND\r\n");
  EXPECT_EQ(said("gat 0 k", point_result::not_found), "END\r\n");
}

TEST_F(ReplyStyles, FlagsNameThePartsOfAReply) {
  EXPECT_EQ(said("ms k 3 k s c Oq", point_result::stored), "HD kk s2 c5 Oq\r\n");
  EXPECT_EQ(said("ms k 3 k s c Oq", point_result::exists), "EX kk s3 c0 Oq\r\n") << "of what was sent";
  EXPECT_EQ(said("md k k s", point_result::deleted), "HD kk\r\n");
  EXPECT_EQ(said("md k", point_result::not_found), "NF\r\n");
  EXPECT_EQ(said("ma k v t c", point_result::number, 42), "VA 2 t-1 c5\r\n42\r\n");
  EXPECT_EQ(said("mg k f s v", point_result::value), "VA 2 f9 s2\r\n12\r\n");
  EXPECT_EQ(said("mg k k", point_result::not_found), "EN kk\r\n");
}

TEST_F(ReplyStyles, ACompareThatMatchesSparesTheValue) {
  EXPECT_EQ(said("mg k v C5", point_result::value), "HD\r\n");
  EXPECT_EQ(said("mg k v C6", point_result::value), "VA 2\r\n12\r\n");
  EXPECT_EQ(said("mg k C6", point_result::value), "HD\r\n");
}

TEST_F(ReplyStyles, QuietSparesTheUsualReplies) {
  EXPECT_EQ(said("mg k q", point_result::not_found), "");
  EXPECT_EQ(said("mg k q", point_result::value), "HD\r\n");
  EXPECT_EQ(said("ms k 3 q", point_result::stored), "");
  EXPECT_EQ(said("ms k 3 q", point_result::not_stored), "NS\r\n");
  EXPECT_EQ(said("md k q", point_result::deleted), "");
  EXPECT_EQ(said("md k q", point_result::not_found), "NF\r\n");
  EXPECT_EQ(said("ma k q", point_result::number, 1), "");
}

TEST_F(ReplyStyles, ErrorsAreToldInTheSameWords) {
  for (const std::string line : {"append k 0 0 3", "ms k 3 MA q"}) {
    EXPECT_EQ(said(line, point_result::no_memory), protocol::kOutOfMemory) << line;
    EXPECT_EQ(said(line, point_result::too_large), protocol::kTooLarge) << line;
  }
  EXPECT_EQ(said("incr k 1", point_result::non_numeric), said("ma k q", point_result::non_numeric));
}

TEST_F(ReplyStyles, OneOfSeveralKeysThatIsLeftOutSaysNothing) {
  const protocol::PointRequest one{.key = "k",
                                   .terms = protocol::command_of(protocol::verb::gat).terms,
                                   .op = protocol::verb::gat,
                                   .end_line = false};
  for (const point_result result : {point_result::not_found, point_result::no_memory}) {
    Memory memory;
    ReplyQueue replies{memory.pool};
    const std::uint32_t ticket = replies.open();
    write_text_reply(replies, ticket, {.request = one, .result = result}, worker());
    replies.close(ticket);
    EXPECT_EQ(drain(replies.output()), "");
  }
}

}  // namespace
}  // namespace mxkv::server::test
