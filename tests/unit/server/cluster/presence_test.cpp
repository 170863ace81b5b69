// A node's status can be read back as it was written; any other text is rejected.
#include "server/cluster/presence.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server {
namespace {

Presence some_presence() {
  return {.name = "a",
          .process = 77,
          .address = "10.0.0.1:11211",
          .peer = "10.0.0.1:11311",
          .version = "1",
          .map_version = 3,
          .said_ns = 9,
          .read = 8,
          .behind_ns = 7,
          .shards = {{.id = 2, .role = "follows", .term = 4, .position = 5, .serves = true}}};
}

TEST(PresenceTest, ComesBackAsItWas) {
  EXPECT_EQ(parse_presence(write_presence(some_presence())), some_presence());
}

TEST(PresenceTest, AnOlderServerReportsLess) {
  const std::string text = write_presence(some_presence());
  std::string older = text;
  for (const char* name : {"\"said_ns\":9,", "\"read\":8,", "\"behind_ns\":7,"}) {
    older.erase(older.find(name), std::string{name}.size());
  }
  Presence expected = some_presence();
  expected.said_ns = expected.read = 0;
  expected.behind_ns = Presence::kNotTold;
  EXPECT_EQ(parse_presence(older), expected);
}

TEST(PresenceTest, OtherTextsAreRejected) {
  const std::string text = write_presence(some_presence());
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_EQ(parse_presence(std::string_view{text}.substr(0, length)), std::nullopt) << length;
  }
  for (const char* other : {"{}", "[]", "7", "null", R"({"name":"a"})"}) {
    EXPECT_EQ(parse_presence(other), std::nullopt) << other;
  }
}

TEST(PresenceTest, ANumberIsAWholeOneFromZeroOn) {
  const std::string text = write_presence(some_presence());
  for (const char* name :
       {"process", "map_version", "said_ns", "read", "behind_ns", "id", "term", "position"}) {
    for (const char* value : {"-1", "1e300", "0.5", "\"1\"", "null"}) {
      std::string other = text;
      const std::size_t at = other.find(std::string{"\""} + name + "\":") + std::string{name}.size() + 3;
      other.replace(at, other.find_first_of(",}", at) - at, value);
      EXPECT_EQ(parse_presence(other), std::nullopt) << other;
    }
  }
}

TEST(PresenceTest, AProcessHasANumber) {
  Presence nobody = some_presence();
  nobody.process = 0;
  EXPECT_EQ(parse_presence(write_presence(nobody)), std::nullopt) << "nothing can be left to it";
}

}  // namespace
}  // namespace mxkv::server
