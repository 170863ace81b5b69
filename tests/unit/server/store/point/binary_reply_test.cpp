// The binary protocol's answer to each result, and to items of all kinds.
#include "server/store/point/binary_reply.hpp"

#include <string>

#include "tests/unit/protocol/binary_packet.hpp"
#include "tests/unit/server/reply/fixture.hpp"
#include "tests/unit/server/store/item_maker.hpp"

namespace mxkv::server::test {
namespace {

using protocol::opcode;
using protocol::Packet;

class BinaryReplies : public ItemTest {
 protected:
  std::string said(const Packet& packet, point_result result, std::uint64_t number = 0) {
    const std::string wire = packet.wire();
    protocol::Request parsed;
    EXPECT_EQ(protocol::parse_binary(wire.data(), wire.size(), {.value_bytes = 100}, parsed).what,
              protocol::outcome::request);
    const protocol::PointRequest request = protocol::point_request(parsed);
    const ItemTest::Owned shown = make({.key = "k", .flags = 9, .cas_field = true, .cas = 5}, "12");
    const PointOutcome outcome{.request = request, .result = result, .number = number, .shown = &*shown};
    return written([&](ReplyQueue& replies, std::uint32_t ticket) {
      write_binary_reply(replies, ticket, outcome, worker());
    });
  }
  template <class Write>
  static std::string written(Write write) {
    Memory memory;
    ReplyQueue replies{memory.pool};
    const std::uint32_t ticket = replies.open();
    write(replies, ticket);
    replies.close(ticket);
    const std::string text = drain(replies.output());
    if (text.empty()) {
      return text;
    }
    std::string_view stream{text};
    const std::string answer = protocol::told(stream);
    return answer + std::string{stream};  // one answer, and nothing behind it
  }
};

TEST_F(BinaryReplies, StoringCommandsReturnTheCas) {
  const std::string extras = protocol::set_extras();
  EXPECT_EQ(said({opcode::set, "k", "", extras}, point_result::stored), "1 0 opaq cas 5");
  EXPECT_EQ(said({opcode::setq, "k", "", extras}, point_result::stored), "");
  EXPECT_EQ(said({opcode::append, "k"}, point_result::stored), "14 0 opaq cas 5");
  EXPECT_EQ(said({opcode::set, "k", "", extras, 7}, point_result::exists), "1 2 opaq: Data exists for key.");
  EXPECT_EQ(said({opcode::set, "k", "", extras, 7}, point_result::not_found), "1 1 opaq: Not found");
  EXPECT_EQ(said({opcode::setq, "k", "", extras}, point_result::no_memory), "17 130 opaq: Out of memory");
}

TEST_F(BinaryReplies, ARefusedStoreHasTheStatusOfItsCommand) {
  const std::string extras = protocol::set_extras();
  EXPECT_EQ(said({opcode::add, "k", "", extras}, point_result::not_stored), "2 2 opaq: Data exists for key.");
  EXPECT_EQ(said({opcode::addq, "k", "", extras}, point_result::not_stored),
            "18 2 opaq: Data exists for key.");
  EXPECT_EQ(said({opcode::replace, "k", "", extras}, point_result::not_stored), "3 1 opaq: Not found");
  EXPECT_EQ(said({opcode::replaceq, "k", "", extras}, point_result::not_stored), "19 1 opaq: Not found");
  EXPECT_EQ(said({opcode::append, "k"}, point_result::not_stored), "14 5 opaq: Not stored.");
  EXPECT_EQ(said({opcode::prependq, "k"}, point_result::not_stored), "26 5 opaq: Not stored.");
  EXPECT_EQ(said({opcode::append, "k"}, point_result::too_large), "14 3 opaq: Too large.");
}

TEST_F(BinaryReplies, ANumberHasEightBytes) {
  const std::string extras = protocol::count_extras(1, 0, 0);
  EXPECT_EQ(said({opcode::increment, "k", "", extras}, point_result::number, 0x4142'4344'4546'4748),
            "5 0 opaq cas 5: ABCDEFGH");
  EXPECT_EQ(said({opcode::decrementq, "k", "", extras}, point_result::number, 1), "");
  EXPECT_EQ(said({opcode::incrementq, "k", "", extras}, point_result::non_numeric),
            "21 6 opaq: Non-numeric server-side value for incr or decr");
  EXPECT_EQ(said({opcode::increment, "k", "", extras}, point_result::not_found), "5 1 opaq: Not found");
}

TEST_F(BinaryReplies, DeleteTellsNoCas) {
  EXPECT_EQ(said({opcode::remove, "k"}, point_result::deleted), "4 0 opaq");
  EXPECT_EQ(said({opcode::removeq, "k"}, point_result::deleted), "");
  EXPECT_EQ(said({opcode::removeq, "k"}, point_result::not_found), "20 1 opaq: Not found");
}

TEST_F(BinaryReplies, TouchTellsFlagsAndGatAll) {
  const std::string extras = protocol::big(0, 4);
  EXPECT_EQ(said({opcode::touch, "k", "", extras}, point_result::touched), "28 0 opaq cas 5 extras 9");
  EXPECT_EQ(said({opcode::gat, "k", "", extras}, point_result::value), "29 0 opaq cas 5 extras 9: 12");
  EXPECT_EQ(said({opcode::gatkq, "k", "", extras}, point_result::value),
            "36 0 opaq cas 5 extras 9 key k: 12");
  EXPECT_EQ(said({opcode::touch, "k", "", extras}, point_result::not_found), "28 1 opaq: Not found");
  EXPECT_EQ(said({opcode::gatk, "k", "", extras}, point_result::not_found), "35 1 opaq key k");
  EXPECT_EQ(said({opcode::gatq, "k", "", extras}, point_result::not_found), "");
}

TEST_F(BinaryReplies, AGetTellsItemsOfAllKinds) {
  const auto shown = [this](opcode code, const ItemTest::Owned& item) {
    return written([&](ReplyQueue& replies, std::uint32_t ticket) {
      write_binary_value(replies, ticket, {code, {'o', 'p', 'a', 'q'}}, *item, worker());
    });
  };
  EXPECT_EQ(shown(opcode::get, make({.key = "k"}, "")), "0 0 opaq extras 0");
  EXPECT_EQ(shown(opcode::getkq, make({.key = "k", .flags = 3}, "value")), "13 0 opaq extras 3 key k: value");
}

TEST_F(BinaryReplies, AMissOfAQuietGetIsSilent) {
  const auto missed = [](opcode code) {
    return written([&](ReplyQueue& replies, std::uint32_t ticket) {
      write_binary_miss(replies, ticket, {code, {'o', 'p', 'a', 'q'}}, "key");
    });
  };
  EXPECT_EQ(missed(opcode::get), "0 1 opaq: Not found");
  EXPECT_EQ(missed(opcode::getk), "12 1 opaq key key");
  EXPECT_EQ(missed(opcode::getq), "");
  EXPECT_EQ(missed(opcode::getkq), "");
}

}  // namespace
}  // namespace mxkv::server::test
