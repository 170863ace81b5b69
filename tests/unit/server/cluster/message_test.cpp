// Messages: written messages can be read back, and any other bytes are rejected with the reason.
#include "server/cluster/message.hpp"

#include <gmock/gmock.h>

#include <string>

namespace mxkv::server {
namespace {

constexpr MessageScope kScope{.cluster = 0x1122334455667788, .shard = 3};

Message group() {
  return {.kind = message_kind::group,
          .shard = 3,
          .cluster = kScope.cluster,
          .term = 4,
          .sequence = 5,
          .node = 6,
          .epoch = 7,
          .part = 1,
          .parts = 3,
          .body = "changes"};
}

message_flaw flaw_of(const std::string& bytes) {
  return parse_message(bytes, kScope).flaw;
}

TEST(Message, ComesBackAsItWasWritten) {
  const std::string bytes = write_message(group());
  ASSERT_EQ(bytes.size(), kMessageHeaderBytes + 7);
  EXPECT_EQ(bytes.substr(0, 8), std::string("MXG1\1\0\2\0", 8));
  const ParsedMessage parsed = parse_message(bytes, kScope);
  EXPECT_EQ(parsed.flaw, message_flaw::none);
  EXPECT_EQ(parsed.message, group());
}

TEST(Message, OfOneVersionStaysTheSameBytes) {
  const std::string bytes = write_message(group());
  EXPECT_EQ(bytes.substr(8, 16), std::string("\3\0\0\0\1\0\0\0\3\0\0\0\7\0\0\0", 16));
  EXPECT_EQ(bytes.substr(24, 8), std::string("\x88\x77\x66\x55\x44\x33\x22\x11", 8));
  EXPECT_EQ(bytes.substr(32, 32),
            std::string("\4\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0", 32));
}

TEST(Message, EveryFlippedBitIsFound) {
  const std::string bytes = write_message(group());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const message_flaw expected = bit < 32   ? message_flaw::foreign
                                  : bit < 48 ? message_flaw::version
                                             : message_flaw::damaged;
    EXPECT_EQ(flaw_of(flipped), expected) << "bit " << bit;
  }
}

TEST(Message, AClaimCarriesALeaseAndAnAddress) {
  const std::string body = write_claim({.lease_ns = kLongestLeaseNs, .address = "10.0.0.1:11311"});
  EXPECT_EQ(parse_claim(body).lease_ns, kLongestLeaseNs);
  EXPECT_EQ(parse_claim(body).address, "10.0.0.1:11311");
  for (const char* const older :
       {"", "a:1", "1.1.1.1:1", "[2001:db8::1]:11311", "a-long-name.example.org:11311"}) {
    EXPECT_EQ(parse_claim(older).lease_ns, kLongestLeaseNs) << "what is not known is waited for longest";
    EXPECT_EQ(parse_claim(older).address, older);
  }
}

TEST(Message, ABeatCarriesALeaseOrNone) {
  EXPECT_EQ(parse_lease(write_lease(3'000'000'000)), 3'000'000'000U);
  EXPECT_EQ(parse_lease(""), std::nullopt);
  EXPECT_EQ(parse_lease(write_lease(kLongestLeaseNs + 1)), std::nullopt);
  EXPECT_EQ(parse_lease(write_lease(0)), std::nullopt);
}

TEST(Message, OneThatIsCutOrLongerIsFound) {
  const std::string bytes = write_message(group());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(flaw_of(bytes.substr(0, size)), size < 4 ? message_flaw::foreign : message_flaw::damaged)
        << size;
  }
  EXPECT_EQ(flaw_of(bytes + '.'), message_flaw::damaged);
}

TEST(Message, MessagesOfOtherWritersAreRecognized) {
  Message message = group();
  message.cluster = 1;
  EXPECT_EQ(flaw_of(write_message(message)), message_flaw::other_cluster);
  message = group();
  message.shard = 4;
  EXPECT_EQ(flaw_of(write_message(message)), message_flaw::other_shard);
}

TEST(Message, FieldsThatDoNotGoTogetherAreDamage) {
  const auto with = [](auto change) {
    Message message = group();
    change(message);
    return flaw_of(write_message(message));
  };
  EXPECT_EQ(with([](Message& m) { m.kind = static_cast<message_kind>(9); }), message_flaw::damaged);
  EXPECT_EQ(with([](Message& m) { m.term = 0; }), message_flaw::damaged);
  EXPECT_EQ(with([](Message& m) { m.node = 0; }), message_flaw::damaged);
  EXPECT_EQ(with([](Message& m) { m.sequence = 0; }), message_flaw::damaged);
  EXPECT_EQ(with([](Message& m) { m.part = 3; }), message_flaw::damaged);
  EXPECT_EQ(with([](Message& m) { m.kind = message_kind::beat; }), message_flaw::damaged)
      << "a beat in parts";
  const auto yield = [](std::string_view body) {
    Message message = group();
    message.kind = message_kind::yield;
    message.part = 0;
    message.parts = 1;
    message.body = body;
    return flaw_of(write_message(message));
  };
  EXPECT_EQ(yield(write_node(9)), message_flaw::none);
  EXPECT_EQ(yield(write_node(0)), message_flaw::damaged) << "left to nobody";
  EXPECT_EQ(yield("seven!!"), message_flaw::damaged);
}

}  // namespace
}  // namespace mxkv::server
