// Files of users: both forms; errors name the place of each mistake, and never a password.
#include "config/users.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace mxkv::config {
namespace {

constexpr const char* kHash = "$5$rounds=1000$salt$gE3tEGs8w6HWSCVWgHvRRGNwgmTbJF4ESmfA7D7JQs5";

std::vector<UserOptions> good(const std::string& text) {
  Findings findings;
  UsersFile file = parse_users(text, "f", findings);
  EXPECT_TRUE(findings.empty()) << to_error(findings).message;
  return file.users;
}

std::string wrong(const std::string& text) {
  Findings findings;
  static_cast<void>(parse_users(text, "f", findings));
  return findings.empty() ? "" : to_error(findings).message;
}

TEST(UsersFile, LinesAreUsersWhoMayDoEverything) {
  for (const std::string text : {"ann:x\nbob:y:z w", "ann:x\nbob:y:z w\n", "ann:x\r\nbob:y:z w\r\n"}) {
    const std::vector<UserOptions> users = good(text);
    ASSERT_EQ(users.size(), 2U);
    EXPECT_EQ(users[0].name, "ann");
    EXPECT_EQ(users[1].password, "y:z w");
    EXPECT_EQ(users[1].role, user_role::administrator);
    EXPECT_FALSE(users[1].hashed);
  }
  EXPECT_EQ(good("a:\n")[0].password, "");
  EXPECT_EQ(good("users:pw\nb:c\n").size(), 2U) << "a user of that name is not a key";
  EXPECT_EQ(good("#a:b\n")[0].name, "#a");
}

TEST(UsersFile, AByteOrderMarkIsNoPartOfTheFirstName) {
  EXPECT_EQ(good("\xef\xbb\xbf"
                 "ann:x\nbob:y\n")[0]
                .name,
            "ann");
  EXPECT_EQ(good("\xef\xbb\xbfusers:\n  - {name: ann, password: x}\n")[0].name, "ann");
}

TEST(UsersFile, PrefixesOfUsersThatCrossConfiguredOnesAreNamed) {
  const std::vector<PrefixOptions> counted{{.prefix = "session:"}, {.prefix = "page:"}};
  EXPECT_THAT(
      crossed_prefixes({{.name = "ann", .password = "x", .prefixes = {"s", "page:", "page:a:"}}}, counted),
      testing::ElementsAre(
          "user ann: of its keys with the prefix \"s\", only those with \"session:\" count in "
          "prefixes[0]"));
}

TEST(UsersFile, YamlSaysRolesPrefixesAndLimits) {
  const std::vector<UserOptions> users =
      good(std::string{"# who may come\n---\nusers:\n  - name: ann\n    password: \""} + kHash +
           "\"\n    role: writer\n    prefixes: [\"a:\", \"b:\"]\n    requests: 10\n"
           "    bytes: 1MiB\n    connections: 5\n  - {name: bob, password: clear}\n");
  ASSERT_EQ(users.size(), 2U);
  EXPECT_TRUE(users[0].hashed);
  EXPECT_EQ(users[0].role, user_role::writer);
  EXPECT_EQ(users[0].prefixes, (std::vector<std::string>{"a:", "b:"}));
  EXPECT_EQ(users[0].requests, 10U);
  EXPECT_EQ(users[0].bytes, 1U << 20U);
  EXPECT_EQ(users[0].connections, 5U);
  EXPECT_FALSE(users[1].hashed);
  EXPECT_EQ(users[1].role, user_role::reader) << "who is not said to may do least";
}

TEST(UsersFile, AWrongLineIsSaidWithItsPlace) {
  EXPECT_EQ(wrong(""), "f: holds no user (allowed: `users:` and a list, or a line user:password each)");
  EXPECT_EQ(wrong("a:b\nc\n"), "f:2:1: is not user:password");
  EXPECT_EQ(wrong(":b\n"), "f:1:1: is not user:password");
  EXPECT_EQ(wrong("a:b\n\nc:d\n"), "f:2:1: is not user:password");
  EXPECT_EQ(wrong("a b:c\n"), "f:1:2: the user's name contains a space");
  EXPECT_EQ(wrong(std::string{"a:\0\n", 4}), "f:1:3: holds a NUL");
  EXPECT_EQ(wrong("a:" + std::string(254, 'x')), "f:1:256: is longer than 255 bytes");
  EXPECT_EQ(wrong("a:" + std::string(253, 'x')), "");
  EXPECT_EQ(wrong("a\nb\n"), "f:1:1: is not user:password\nf:2:1: is not user:password");
}

TEST(UsersFile, AWrongUserIsSaidWithItsPlaceAndNeverItsPassword) {
  const auto user = [](const std::string& keys) { return wrong("users:\n  - {" + keys + "}\n"); };
  EXPECT_EQ(
      user("name: a, pasword: secret"),
      "f:2:5: users[0]: has no password (allowed: name, password and more)\n"
      "f:2:15: users[0].pasword: an unknown key, did you mean password? (allowed: name, password, role, "
      "prefixes, requests, bytes, connections)");
  EXPECT_EQ(user("password: secret"), "f:2:5: users[0]: has no name (allowed: name, password and more)");
  EXPECT_EQ(user("name: a"), "f:2:5: users[0]: has no password (allowed: name, password and more)");
  EXPECT_EQ(user("name: a, password: $nohash"),
            "f:2:25: users[0].password: begins with $ but is not a hash that crypt(5) knows (allowed: the "
            "output of mxkvd hash-password)");
  EXPECT_EQ(user("name: a, password: x, role: admin"),
            "f:2:34: users[0].role: \"admin\" is unknown, did you mean administrator? (allowed: reader, "
            "writer, administrator)");
  EXPECT_EQ(user("name: a b, password: x"),
            "f:2:12: users[0].name: is not a valid user name (allowed: 1 to 255 bytes without spaces and "
            "control characters)");
  EXPECT_EQ(user("name: a, password: x, prefixes: []"),
            "f:2:28: users[0].prefixes: is an empty list (allowed: at least one item)");
  EXPECT_EQ(user("name: a, password: x, prefixes: [\"\"]"),
            "f:2:39: users[0].prefixes[0]: is not a valid prefix (allowed: 1 to 250 bytes)");
  EXPECT_EQ(user("name: a, password: x, role: administrator, prefixes: [\"p\"]"),
            "f:2:5: users[0]: an administrator has prefixes (allowed: prefixes of readers and writers)");
  EXPECT_EQ(user("name: a, password: x, requests: 0"),
            "f:2:38: users[0].requests: \"0\" is out of range (allowed: 1 to 1000000000, or off)");
  EXPECT_EQ(wrong("users:\n  - {name: a, password: x}\n  - {name: a, password: y}\n"),
            "f:3:5: users[1]: a second user \"a\" (allowed: one of each name)");
  EXPECT_EQ(wrong("users: []\n"), "f:1:1: users: is an empty list (allowed: at least one item)");
  EXPECT_NE(wrong("users:\n  - {name: a, password: x\n"), "");
}

TEST(UsersFile, TenThousandUsersAreReadAndOneMoreIsRefused) {
  std::string text = "users:\n";
  for (std::size_t i = 0; i < kMostUsers; ++i) {
    text += "  - {name: u" + std::to_string(i) + ", password: x}\n";
  }
  EXPECT_EQ(good(text).size(), kMostUsers);
  EXPECT_EQ(wrong(text + "  - {name: more, password: x}\n"),
            "f:10002:5: users[10000]: one user too many (allowed: 10000)");
}

class UsersFileOnDisk : public ::testing::Test {
 protected:
  UsersFileOnDisk() : file_(::testing::TempDir() + "users_of_test_" + std::to_string(getpid())) {
    std::ofstream{file_} << "ann:x\n";
  }
  ~UsersFileOnDisk() override { std::filesystem::remove(file_); }
  UsersFile read(mode_t mode) {
    ::chmod(file_.c_str(), mode);
    findings_.clear();
    return read_users(file_, findings_);
  }
  std::string file_;
  Findings findings_;
};

TEST_F(UsersFileOnDisk, OneThatOthersMayWriteIsRefused) {
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    EXPECT_TRUE(read(mode).users.empty());
    ASSERT_EQ(findings_.size(), 1U) << std::oct << mode;
    EXPECT_EQ(to_error(findings_).message,
              file_ + ": other users of this machine may write to it (allowed: chmod go-w)");
  }
}

TEST_F(UsersFileOnDisk, OneThatOthersMayReadIsWarnedOfAndSoAreClearPasswords) {
  EXPECT_EQ(
      read(0600).warnings,
      (std::vector<std::string>{file_ + ": a password is in clear text (mxkvd hash-password makes a hash)"}));
  EXPECT_EQ(read(0604).warnings.front(),
            file_ + ": every user of this machine may read it (better: chmod o-r)");
  EXPECT_TRUE(findings_.empty());
}

TEST_F(UsersFileOnDisk, WhatCannotBeReadIsSaid) {
  Findings findings;
  static_cast<void>(read_users(::testing::TempDir(), findings));
  static_cast<void>(read_users("/nonexistent/users", findings));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].what, "cannot be read: Is a directory");
  EXPECT_EQ(findings[1].what, "cannot be read: No such file or directory");
}

}  // namespace
}  // namespace mxkv::config
