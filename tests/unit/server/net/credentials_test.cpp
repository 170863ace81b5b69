// Files of users: what is read, what is refused and how that is said, and who is known.
#include "server/net/credentials.hpp"

#include <gtest/gtest.h>

#include "protocol/reply.hpp"

namespace mxkv::server {
namespace {

std::string error_of(std::string_view text) {
  const auto users = Users::parse(text, "f");
  return users ? "" : users.error().message;
}

TEST(Users, AreOneALineWithOrWithoutALastEndOfLine) {
  for (const std::string_view text : {"ann:x\nbob:y", "ann:x\nbob:y\n", "ann:x\r\nbob:y\r\n"}) {
    const Users users = Users::parse(text, "f").value();
    EXPECT_EQ(users.size(), 2U);
    EXPECT_TRUE(users.know("ann", "x"));
    EXPECT_TRUE(users.know("bob", "y"));
    EXPECT_FALSE(users.know("ann", "y"));
  }
}

TEST(Users, PasswordsMayBeEmptyOrHoldColonsAndSpaces) {
  const Users users = Users::parse("a:\nb:x:y z\n", "f").value();
  EXPECT_TRUE(users.know("a", ""));
  EXPECT_TRUE(users.know("b", "x:y z"));
  EXPECT_FALSE(users.know("b:x", "y z"));
}

TEST(Users, NoPrefixNoShiftAndNoPaddingIsTakenForTheWhole) {
  const Users users = Users::parse("ann:secret\n", "f").value();
  for (const auto& [user, password] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{{"ann", "secre"},
                                                                            {"ann", "secrets"},
                                                                            {"an", "nsecret"},
                                                                            {"anns", "ecret"},
                                                                            {"", ""},
                                                                            {"ann", ""},
                                                                            {"", "secret"},
                                                                            {"ann", {"secret\0", 7}},
                                                                            {{"ann\0", 4}, "secret"},
                                                                            {"Ann", "secret"}}) {
    EXPECT_FALSE(users.know(user, password)) << user << " " << password;
  }
  EXPECT_FALSE(users.know(std::string(300, 'a'), "x"));
}

TEST(Users, AWrongFileIsSaidWithItsLine) {
  EXPECT_EQ(error_of(""), "f: holds no user (allowed: a line user:password each)");
  EXPECT_EQ(error_of("a:b\nc\n"), "f:2: is not user:password");
  EXPECT_EQ(error_of(":b\n"), "f:1: is not user:password");
  EXPECT_EQ(error_of("a:b\n\nc:d\n"), "f:2: is not user:password");
  EXPECT_EQ(error_of("a b:c\n"), "f:1: the user holds a space, or the line a NUL");
  EXPECT_EQ(error_of({"a:\0\n", 4}), "f:1: the user holds a space, or the line a NUL");
  EXPECT_EQ(error_of("a:" + std::string(254, 'x')), "f:1: is longer than 255 bytes");
  EXPECT_EQ(error_of("a:" + std::string(253, 'x')), "");
  EXPECT_EQ(error_of("1:\n2:\n3:\n4:\n5:\n6:\n7:\n8:\n9:\n"), "f:9: is one user too many (allowed: 8)");
  const std::string folder = ::testing::TempDir();
  EXPECT_EQ(Users::read(folder).error().message, folder + ": cannot be read: Is a directory");
}

TEST(Credentials, AreRequiredOnceThereAreUsersAndCountWhoTries) {
  Credentials credentials;
  EXPECT_FALSE(credentials.required());
  credentials.replace(Users::parse("ann:x\n", "f").value());
  EXPECT_TRUE(credentials.required());
  EXPECT_EQ(credentials.judge("ann x"), protocol::kStored);
  EXPECT_EQ(credentials.judge("ann y"), protocol::kWrongLogin);
  EXPECT_EQ(credentials.judge("annx"), protocol::kBadLogin);
  EXPECT_EQ(credentials.commands(), 2U);
  EXPECT_EQ(credentials.errors(), 1U);
  credentials.replace(Users::parse("bob:x\n", "f").value());
  EXPECT_EQ(credentials.judge("ann x"), protocol::kWrongLogin);
}

}  // namespace
}  // namespace mxkv::server
