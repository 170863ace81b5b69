// The requests that each role may send, and the keys and ranges that a user with prefixes may use.
#include "server/net/users/rights.hpp"

#include <gtest/gtest.h>

#include "protocol/parser.hpp"

namespace mxkv::server {
namespace {

using config::user_role;

User user_of(user_role role, std::vector<std::string> prefixes = {}) {
  User user;
  user.options.role = role;
  user.options.prefixes = std::move(prefixes);
  return user;
}

bool permitted(const User& user, const std::string& line) {
  const std::string text = line + "\r\n";
  const protocol::Parser parser{protocol::ParserLimits{}};
  protocol::LineState state;
  protocol::Request request;
  const protocol::Parsed parsed = parser.parse(text.data(), text.size(), state, request);
  EXPECT_EQ(parsed.what, protocol::outcome::request) << line;
  return permits(user, request);
}

TEST(Rights, EachRoleHasTheRightsOfTheOnesBeforeItAndMore) {
  const std::vector<std::string> any{"version", "quit", "mn", "mb 2"};
  const std::vector<std::string> reads{"get a",    "gets a b",       "mg a v",      "me a",
                                       "scan a 5", "pscan a 5",      "mr a Hc",     "mc -",
                                       "stats",    "stats settings", "stats items", "stats latency"};
  const std::vector<std::string> writes{"gat 1 a",  "set a 0 0 1", "ms a 1",        "md a",     "ma a",
                                        "delete a", "incr a 1",    "touch a 1",     "mg a T30", "mg a N30",
                                        "mx a Hb",  "mt a Hb T1",  "append a 0 0 1"};
  const std::vector<std::string> administers{"flush_all",
                                             "verbosity 1",
                                             "cache_memlimit 64",
                                             "watch",
                                             "shutdown",
                                             "debugtime p",
                                             "lru_crawler metadump all",
                                             "lru_crawler mgdump all",
                                             "stats cachedump 1 0",
                                             "stats conns",
                                             "stats hot",
                                             "stats slow",
                                             "stats reset",
                                             "stats detail dump",
                                             "lru_crawler enable"};
  const auto all = [](user_role role, const std::vector<std::string>& lines, bool expected) {
    for (const std::string& line : lines) {
      EXPECT_EQ(permitted(user_of(role), line), expected) << line << " by role " << static_cast<int>(role);
    }
  };
  for (const user_role role : {user_role::reader, user_role::writer, user_role::administrator}) {
    all(role, any, true);
    all(role, reads, true);
    all(role, writes, role != user_role::reader);
    all(role, administers, role == user_role::administrator);
  }
}

TEST(Rights, AUserWithPrefixesMayUseKeysThatBeginWithOne) {
  const User user = user_of(user_role::writer, {"a:", "b:"});
  for (const char* const line : {"get a:", "get a:1", "get a:1 b:2", "gat 1 b:x a:", "set a:1 0 0 1",
                                 "mg b:1 v", "md a:1", "incr a:1 1", "me a:1", "mg YTox v b"}) {
    EXPECT_TRUE(permitted(user, line)) << line;
  }
  for (const char* const line :
       {"get a", "get c:1", "get a:1 c:2", "get c:1 a:2", "gat 1 a:1 b", "set aa 0 0 1", "mg b v", "md x",
        "incr c 1", "me c", "touch c 1", "mg eDox v b"}) {
    EXPECT_FALSE(permitted(user, line)) << line;
  }
}

TEST(Rights, ARangeHasToBeWithinOnePrefix) {
  const User user = user_of(user_role::writer, {"a:", "b:"});
  for (const char* const line :
       {"pscan a: 5", "pscan a:x 5", "mr b: p", "mr a:1 Ha:5", "scan a: [a:zz 5", "scan a: (a; 5",
        "mx a:1 Ha:9 o", "mc a: p", "mt a: p T5", "mr a: Ha;", "mr a: p r"}) {
    EXPECT_TRUE(permitted(user, line)) << line;
  }
  for (const char* const line :
       {"pscan a 5", "scan - + 5", "mr -", "mr a:", "mr a:1 Hb:2", "mr a: Ha; i", "scan a: [a; 5",
        "mr a Ha:5", "mc -", "mx c: p", "mt - T5", "scan a:1 5", "mr a: Ha;0", "mr c:1 Hc:2"}) {
    EXPECT_FALSE(permitted(user, line)) << line;
  }
}

TEST(Rights, TheEndOfAPrefixIsTheNextTextThatDoesNotBeginWithIt) {
  const auto lies = [](std::string_view low, std::string_view high, std::string_view prefix) {
    protocol::RangeRequest range;
    range.low = {low, false, true};
    range.high = {high, false, false};
    return lies_within(range, prefix);
  };
  EXPECT_TRUE(lies("a\xff", "b", "a\xff"));
  EXPECT_FALSE(lies("a\xff", "b", "a\xfe"));
  EXPECT_TRUE(lies("ab", "ac", "ab"));
  EXPECT_FALSE(lies("ab", "ad", "ab"));
  EXPECT_FALSE(lies("ab", "ac\x01", "ab"));
  EXPECT_FALSE(lies("\xff", "\xff\xff", "\xff\xff")) << "nothing is behind the last prefix";
}

}  // namespace
}  // namespace mxkv::server
