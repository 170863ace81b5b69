// Meta replies that arrive in pieces.
#include "protocol/clients/cli/wire/meta_reply.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "protocol/clients/cli/failure.hpp"

namespace mxkv::cli {
namespace {

TEST(MetaReply, CutAnywhereItWaitsForTheRestAndThenIsTheSame) {
  for (const std::string& whole :
       std::vector<std::string>{"VA 5 kkey f7 t-1 c12\r\na\r\nb!\r\n", "HD kAAEC b\r\n", "EN A3 Gabc\r\n",
                                "MN\r\n", "CLIENT_ERROR bad data chunk\r\n", "VA 0\r\n\r\n"}) {
    MetaReply reply;
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      EXPECT_EQ(read_meta_reply(std::string_view(whole).substr(0, cut), reply), 0U) << whole << cut;
    }
    const std::string both = whole + "HD\r\n";
    EXPECT_EQ(read_meta_reply(both, reply), whole.size());
    EXPECT_EQ(reply.line, std::string_view(whole).substr(0, whole.find('\r')));
  }
}

TEST(MetaReply, FlagsAreFoundByTheirLetter) {
  const std::string bytes = "VA 2 kk f7 t-1 c12 s2\r\nhi\r\n";
  MetaReply reply;
  ASSERT_EQ(read_meta_reply(bytes, reply), bytes.size());
  EXPECT_EQ(reply.code, "VA");
  EXPECT_EQ(reply.value, "hi");
  EXPECT_EQ(reply.number('f'), 7U);
  EXPECT_EQ(reply.number('c'), 12U);
  EXPECT_EQ(reply.flag('t'), "-1");
  EXPECT_FALSE(reply.has('Z'));
  EXPECT_EQ(reply.key(), "k");
}

TEST(MetaReply, AKeyInBase64IsDecoded) {
  const std::string bytes = "HD kAAEC b\r\n";
  MetaReply reply;
  ASSERT_NE(read_meta_reply(bytes, reply), 0U);
  EXPECT_EQ(reply.key(), std::string("\0\1\2", 3));
}

TEST(MetaReply, MalformedRepliesAreRefused) {
  MetaReply reply;
  for (const std::string& bytes :
       std::vector<std::string>{"VA x\r\n\r\n", "VA 1\r\nabc\r\n", "VA 99999999999\r\n"}) {
    EXPECT_THROW(static_cast<void>(read_meta_reply(bytes, reply)), Failure) << bytes;
  }
  EXPECT_THROW(static_cast<void>(read_meta_reply(std::string(100'000, 'x'), reply)), Failure);
}

TEST(MetaReply, ARefusalAndAFailedLoginHaveTheirOwnOutcomes) {
  const auto outcome_of = [](std::string_view line) {
    try {
      throw_refusal(line);
    } catch (const Failure& failure) {
      return failure.outcome();
    }
  };
  EXPECT_EQ(outcome_of("SERVER_ERROR out of memory storing object"), Outcome::refused);
  EXPECT_EQ(outcome_of("CLIENT_ERROR unauthenticated"), Outcome::login);
}

}  // namespace
}  // namespace mxkv::cli
