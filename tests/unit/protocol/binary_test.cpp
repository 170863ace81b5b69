// Requests of the binary protocol: each opcode, each way to cut them, and bytes that are no request.
#include "protocol/binary.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "protocol/point_request.hpp"
#include "tests/unit/protocol/binary_packet.hpp"

namespace mxkv::protocol {
namespace {

constexpr ParserLimits kOfThousand{.value_bytes = 1000};

/// A packet, parsed from memory of exactly its size, so that a sanitizer sees a step too far.
class ParsedPacket {
 public:
  explicit ParsedPacket(const Packet& packet) : ParsedPacket(packet.wire()) {}
  explicit ParsedPacket(const std::string& wire) : wire_(wire.begin(), wire.end()) {
    parsed_ = parse_binary(wire_.data(), wire_.size(), kOfThousand, *request_);
  }
  [[nodiscard]] const BinaryParsed& parsed() const { return parsed_; }
  [[nodiscard]] bool accepted() const { return parsed_.what == outcome::request; }
  const Request* operator->() const { return request_.get(); }
  [[nodiscard]] PointRequest point() const { return point_request(*request_); }

 private:
  std::vector<char> wire_;
  std::unique_ptr<Request> request_ = std::make_unique<Request>();
  BinaryParsed parsed_;
};

void expect_no_request(const Packet& packet, binary_status status, bool closes) {
  const ParsedPacket parsed{packet};
  EXPECT_EQ(parsed.parsed().what, outcome::error);
  EXPECT_EQ(parsed.parsed().error, status);
  EXPECT_EQ(parsed.parsed().closes, closes);
  EXPECT_EQ(parsed->meta.binary.code, packet.code);
  EXPECT_EQ(std::string_view(parsed->meta.binary.opaque.data(), 4), "opaq");
}

TEST(BinaryParser, GetsAreReadsWithAForm) {
  for (const opcode code : {opcode::get, opcode::getq, opcode::getk, opcode::getkq}) {
    const ParsedPacket parsed{Packet{.code = code, .key = "a key"}};
    ASSERT_TRUE(parsed.accepted());
    EXPECT_EQ(parsed->op, verb::get);
    EXPECT_EQ(parsed->key, "a key");
    EXPECT_EQ(parsed.parsed().consumed, 29U);
    EXPECT_TRUE(parsed.point().is_binary());
    EXPECT_FALSE(parsed.point().is_meta());
    EXPECT_TRUE(parsed.point().only_reads());
    EXPECT_EQ(parsed->meta.binary.quiet(), code == opcode::getq || code == opcode::getkq);
    EXPECT_EQ(parsed->meta.binary.tells_key(), code == opcode::getk || code == opcode::getkq);
  }
}

TEST(BinaryParser, StoringCommandsHaveFlagsTimeAndLength) {
  const ParsedPacket set{
      Packet{.code = opcode::set, .key = "k", .value = "value", .extras = set_extras(7, 9)}};
  ASSERT_TRUE(set.accepted());
  EXPECT_EQ(set->op, verb::set);
  EXPECT_EQ(set->flags, 7U);
  EXPECT_EQ(set->exptime, 9);
  EXPECT_EQ(set->value_bytes, 5U);
  EXPECT_EQ(set.parsed().consumed, 24U + 8 + 1);
  EXPECT_TRUE(set.point().sets());
  const ParsedPacket add{Packet{.code = opcode::addq, .key = "k", .extras = set_extras()}};
  EXPECT_EQ(add->op, verb::add);
  EXPECT_EQ(add.point().terms.mode, store_mode::add);
  EXPECT_TRUE(add->meta.binary.quiet());
  const ParsedPacket replace{Packet{.code = opcode::replace, .key = "k", .extras = set_extras()}};
  EXPECT_EQ(replace.point().terms.mode, store_mode::replace);
}

TEST(BinaryParser, ANumberToCompareMakesEachOfThemACas) {
  for (const opcode code : {opcode::set, opcode::add, opcode::replaceq}) {
    const ParsedPacket parsed{Packet{.code = code, .key = "k", .extras = set_extras(), .cas = 77}};
    EXPECT_EQ(parsed->op, verb::cas);
    EXPECT_TRUE(parsed.point().terms.compares);
    EXPECT_EQ(parsed.point().terms.mode, store_mode::set);
    EXPECT_EQ(parsed.point().compare, 77U);
  }
  const ParsedPacket append{Packet{.code = opcode::append, .key = "k", .value = "x", .cas = 5}};
  EXPECT_TRUE(append.point().terms.compares);
  EXPECT_EQ(append.point().terms.mode, store_mode::append);
  EXPECT_FALSE(ParsedPacket(Packet{.code = opcode::get, .key = "k", .cas = 5}).point().terms.compares);
}

TEST(BinaryParser, AppendAndPrependHaveNeitherFlagsNorTime) {
  const ParsedPacket append{Packet{.code = opcode::appendq, .key = "k", .value = "xy"}};
  ASSERT_TRUE(append.accepted());
  EXPECT_EQ(append->op, verb::append);
  EXPECT_EQ(append->value_bytes, 2U);
  EXPECT_EQ(append.point().terms.mode, store_mode::append);
  EXPECT_EQ(ParsedPacket(Packet{.code = opcode::prepend, .key = "k"}).point().terms.mode,
            store_mode::prepend);
}

TEST(BinaryParser, CountersAreMadeWhereTheirTimeSaysSo) {
  const ParsedPacket up{Packet{.code = opcode::increment, .key = "n", .extras = count_extras(5, 70, 9)}};
  ASSERT_TRUE(up.accepted());
  EXPECT_EQ(up->op, verb::incr);
  EXPECT_EQ(up.point().delta, 5U);
  EXPECT_FALSE(up.point().terms.down);
  EXPECT_TRUE(up.point().vivifies());
  EXPECT_EQ(up->meta.initial, 70U);
  EXPECT_EQ(up->meta.vivify_exptime, 9);
  const ParsedPacket down{
      Packet{.code = opcode::decrementq, .key = "n", .extras = count_extras(~std::uint64_t{0}, 0, ~0U)}};
  EXPECT_TRUE(down.point().terms.down);
  EXPECT_EQ(down.point().delta, ~std::uint64_t{0});
  EXPECT_FALSE(down.point().vivifies());
}

TEST(BinaryParser, TouchAndGatGiveATime) {
  for (const opcode code : {opcode::touch, opcode::gat, opcode::gatq, opcode::gatk, opcode::gatkq}) {
    const ParsedPacket parsed{Packet{.code = code, .key = "k", .extras = big(100, 4)}};
    ASSERT_TRUE(parsed.accepted());
    EXPECT_TRUE(parsed.point().terms.touches);
    EXPECT_EQ(parsed.point().exptime, 100);
    EXPECT_EQ(parsed.point().terms.ordered, code == opcode::touch);
    EXPECT_EQ(parsed.point().shows_item(), code != opcode::touch);
  }
}

TEST(BinaryParser, TheRestIsForNoKey) {
  const auto op_of = [](const Packet& packet) {
    const ParsedPacket parsed{packet};
    EXPECT_TRUE(parsed.accepted());
    return parsed->op;
  };
  EXPECT_EQ(op_of({.code = opcode::quit}), verb::quit);
  EXPECT_EQ(op_of({.code = opcode::quitq}), verb::quit);
  EXPECT_EQ(op_of({.code = opcode::noop}), verb::meta_noop);
  EXPECT_EQ(op_of({.code = opcode::version}), verb::version);
  EXPECT_EQ(op_of({.code = opcode::flush}), verb::flush_all);
  EXPECT_EQ(op_of({.code = opcode::stat}), verb::stats);
  EXPECT_EQ(op_of({.code = opcode::sasl_mechanisms}), verb::meta_noop);
  EXPECT_EQ(ParsedPacket(Packet{.code = opcode::flushq, .extras = big(60, 4)})->exptime, 60);
  EXPECT_EQ(ParsedPacket(Packet{.code = opcode::stat, .key = "settings"})->argument, "settings");
  EXPECT_EQ(ParsedPacket(Packet{.code = opcode::verbosity, .extras = big(2, 4)})->verbosity, 2U);
  const ParsedPacket login{Packet{.code = opcode::sasl_auth, .key = "PLAIN", .value = "message"}};
  EXPECT_EQ(login->key, "PLAIN");
  EXPECT_EQ(login->value_bytes, 7U);
}

TEST(BinaryParser, EachCutNeedsMoreUntilTheRequestIsThere) {
  const Packet packets[] = {{.code = opcode::get, .key = "key"},
                            {.code = opcode::set, .key = "key", .value = "value", .extras = set_extras()},
                            {.code = opcode::increment, .key = "n", .extras = count_extras(1, 2, 3)},
                            {.code = opcode::noop}};
  for (const Packet& packet : packets) {
    const std::string wire = packet.wire();
    const std::size_t whole = kBinaryHeaderBytes + packet.extras.size() + packet.key.size();
    for (std::size_t cut = 0; cut < wire.size(); ++cut) {
      const ParsedPacket parsed{wire.substr(0, cut)};
      EXPECT_EQ(parsed.parsed().what, cut < whole ? outcome::need_more : outcome::request) << cut;
    }
  }
}

TEST(BinaryParser, AnotherMagicIsNoRequest) {
  EXPECT_EQ(ParsedPacket(std::string{"\x81"}).parsed().what, outcome::close);
  EXPECT_EQ(ParsedPacket(std::string{"get k\r\n"}).parsed().what, outcome::close);
  EXPECT_EQ(ParsedPacket(std::string{}).parsed().what, outcome::need_more);
}

TEST(BinaryParser, LengthsThatContradictEachOtherClose) {
  expect_no_request({.key = "key", .more_body = std::uint64_t(0) - 1}, binary_status::unknown_command, true);
  expect_no_request(
      {.code = opcode::set, .key = "k", .extras = set_extras(), .more_body = std::uint64_t(0) - 9},
      binary_status::unknown_command, true);
  expect_no_request({.code = opcode::set, .key = "k", .extras = set_extras(), .more_body = 0x4000'0000},
                    binary_status::invalid, true);
  expect_no_request({.code = opcode::set, .key = "k", .extras = set_extras(), .more_body = 0xffff'fff6},
                    binary_status::invalid, true);
  expect_no_request({.key = std::string(251, 'k')}, binary_status::invalid, true);
  EXPECT_TRUE(ParsedPacket(Packet{.key = std::string(250, 'k')}).accepted());
}

TEST(BinaryParser, PartsThatItsCommandDoesNotHaveClose) {
  for (unsigned n = 0; n < 0x25; ++n) {
    const auto code = static_cast<opcode>(n);
    if (n == 0x1f || code == opcode::set || code == opcode::add || code == opcode::replace ||
        code == opcode::setq || code == opcode::addq || code == opcode::replaceq) {
      continue;  // with these extras they are right
    }
    expect_no_request({.code = code, .key = "k", .extras = std::string(8, 'x')}, binary_status::invalid,
                      true);
  }
  for (const opcode code : {opcode::get, opcode::set, opcode::remove, opcode::increment, opcode::touch,
                            opcode::append, opcode::sasl_auth}) {
    expect_no_request({.code = code}, binary_status::invalid, true);
  }
  for (const opcode code :
       {opcode::noop, opcode::version, opcode::quit, opcode::quitq, opcode::sasl_mechanisms, opcode::flush}) {
    expect_no_request({.code = code, .key = "k"}, binary_status::invalid, true);
    expect_no_request({.code = code, .value = "v"}, binary_status::invalid, true);
  }
  expect_no_request({.code = opcode::get, .key = "k", .value = "v"}, binary_status::invalid, true);
  expect_no_request({.code = opcode::stat, .key = "k", .value = "v"}, binary_status::invalid, true);
  expect_no_request({.code = opcode::touch, .key = "k", .value = "v", .extras = big(1, 4)},
                    binary_status::invalid, true);
}

TEST(BinaryParser, AnUnknownCommandIsPassedOver) {
  for (const unsigned n : {0x1fU, 0x25U, 0x30U, 0x3cU, 0xfeU, 0xffU}) {
    const Packet packet{.code = static_cast<opcode>(n), .key = "key", .value = "value", .extras = "1"};
    expect_no_request(packet, binary_status::unknown_command, false);
    EXPECT_EQ(ParsedPacket(packet).parsed().consumed, kBinaryHeaderBytes);
    EXPECT_EQ(ParsedPacket(packet).parsed().swallow, 9U);
  }
}

TEST(BinaryParser, AValueThatIsTooLargeIsPassedOverAndASetTakesWhatWasThereAlong) {
  const Packet set{.code = opcode::setq, .key = "k", .extras = set_extras(), .more_body = 1001};
  expect_no_request(set, binary_status::too_large, false);
  EXPECT_EQ(ParsedPacket(set).parsed().consumed, kBinaryHeaderBytes + 9);
  EXPECT_EQ(ParsedPacket(set).parsed().swallow, 1001U);
  EXPECT_TRUE(ParsedPacket(set).parsed().delete_key);
  EXPECT_EQ(ParsedPacket(set)->key, "k");
  const ParsedPacket add{Packet{.code = opcode::add, .key = "k", .extras = set_extras(), .more_body = 1001}};
  EXPECT_FALSE(add.parsed().delete_key);
  EXPECT_TRUE(ParsedPacket(Packet{.code = opcode::set, .key = "k", .extras = set_extras(), .more_body = 1000})
                  .accepted());
}

TEST(BinaryParser, AKeyThatNoTextCanCarryIsMarked) {
  EXPECT_TRUE(
      ParsedPacket(Packet{.code = opcode::set, .key = "a b", .extras = set_extras()})->meta.binary_key);
  EXPECT_FALSE(
      ParsedPacket(Packet{.code = opcode::set, .key = "ab", .extras = set_extras()})->meta.binary_key);
}

TEST(PlainLogin, HasThreePartsOfWhichTheFirstIsEmptyOrTheUser) {
  for (const std::string_view message :
       {std::string_view{"\0user\0pass word", 15}, std::string_view{"user\0user\0pass word", 19}}) {
    const PlainLogin login = read_plain_login(message);
    EXPECT_TRUE(login.good);
    EXPECT_EQ(login.user, "user");
    EXPECT_EQ(login.password, "pass word");
  }
  EXPECT_TRUE(read_plain_login(std::string_view{"\0u\0", 3}).good);
  for (const std::string_view wrong :
       {std::string_view{}, std::string_view{"user"}, std::string_view{"\0user", 5},
        std::string_view{"who\0user\0password", 17}, std::string_view{"use\0user\0password", 17},
        std::string_view{"\0user\0pass\0word", 15}}) {
    EXPECT_FALSE(read_plain_login(wrong).good);
  }
}

}  // namespace
}  // namespace mxkv::protocol
