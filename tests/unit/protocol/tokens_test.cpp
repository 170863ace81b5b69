// Words of a line: what separates them, and which could be keys.
#include "protocol/tokens.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mxkv::protocol {
namespace {

Tokens tokens_of(std::string_view line) {
  return {line.data(), line.data() + line.size()};
}

std::vector<std::string> all_of(std::string_view line) {
  std::vector<std::string> found;
  Tokens tokens = tokens_of(line);
  while (!tokens.done()) {
    found.emplace_back(tokens.next().text);
  }
  return found;
}

TEST(Tokens, RunsOfSpacesCollapseAnywhere) {
  EXPECT_EQ(all_of("  get   a b  "), (std::vector<std::string>{"get", "a", "b"}));
  EXPECT_TRUE(all_of("").empty());
  EXPECT_TRUE(all_of("   ").empty());
}

TEST(Tokens, OtherControlBytesDoNotSeparate) {
  EXPECT_EQ(all_of("a\tb c\rd e\x7f"), (std::vector<std::string>{"a\tb", "c\rd", "e\x7f"}));
}

TEST(Tokens, ATokenIsCleanExactlyIfAKeyMayHoldItsBytes) {
  Tokens tokens = tokens_of(std::string_view("good b\x01\x7f b\rd \xff\x80 \0\t", 17));
  EXPECT_TRUE(tokens.next().clean);
  EXPECT_TRUE(tokens.next().clean);
  EXPECT_FALSE(tokens.next().clean);
  EXPECT_TRUE(tokens.next().clean);
  EXPECT_FALSE(tokens.next().clean);
}

TEST(Tokens, AKeyHasOneToTwoHundredAndFiftyBytes) {
  for (const std::size_t bytes : {std::size_t{1}, kMaxKeyBytes, kMaxKeyBytes + 1}) {
    const std::string line(bytes, 'k');
    EXPECT_EQ(tokens_of(line).next().is_key(), bytes <= kMaxKeyBytes) << bytes;
  }
  EXPECT_FALSE(tokens_of("").next().is_key());
}

TEST(Tokens, BehindTheLastTokenAllAreEmpty) {
  Tokens tokens = tokens_of("a");
  EXPECT_FALSE(tokens.next().empty());
  EXPECT_TRUE(tokens.next().empty());
  EXPECT_TRUE(tokens.next().empty());
}

TEST(Tokens, TheLastTokenIsKnownWhateverWasTaken) {
  Tokens tokens = tokens_of("set k noreply  ");
  EXPECT_EQ(tokens.last(), "noreply");
  while (!tokens.done()) {
    (void)tokens.next();
  }
  EXPECT_EQ(tokens.last(), "noreply");
  EXPECT_EQ(tokens_of("one").last(), "one");
  EXPECT_EQ(tokens_of(" ").last(), "");
}

TEST(Tokens, TheRestBeginsAtTheNextToken) {
  Tokens tokens = tokens_of("get  a b");
  EXPECT_EQ(tokens.rest(), "get  a b");
  (void)tokens.next();
  EXPECT_EQ(tokens.rest(), "a b");
}

}  // namespace
}  // namespace mxkv::protocol
