// HTTP Basic: valid and invalid headers, admitted users, and counters.
#include "server/admin/http_login.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "protocol/reply.hpp"
#include "tests/unit/server/net/users/known_users.hpp"

namespace mxkv::server {
namespace {

using verdict = HttpLogin::verdict;

std::string basic(std::string_view text) {
  std::string coded((text.size() + 2) / 3 * 4, '\0');
  protocol::write_base64(coded.data(), text);
  return "Basic " + coded;
}

TEST(ReadBasic, TakesAUserAndAPasswordThatMayHaveColons) {
  for (const auto& [text, user, password] :
       {std::array<std::string_view, 3>{"ann:secret", "ann", "secret"},
        {":", "", ""},
        {"a::b:", "a", ":b:"},
        {"\xc3\xa4:\xc3\xb6 \xc3\xbc", "\xc3\xa4", "\xc3\xb6 \xc3\xbc"}}) {
    Login::Claim claim;
    ASSERT_TRUE(read_basic(basic(text), claim)) << text;
    EXPECT_EQ(claim.user, user);
    EXPECT_EQ(claim.password, password);
  }
  Login::Claim claim;
  EXPECT_TRUE(read_basic("bAsIc   YTp5", claim));
  EXPECT_EQ(claim.user, "a");
}

TEST(ReadBasic, RefusesTextThatIsNoCredential) {
  Login::Claim claim;
  const std::string longest(Credentials::kMostBytes - 2, 'x');
  EXPECT_TRUE(read_basic(basic("a:" + longest), claim));
  claim = {};
  for (const std::string& header :
       {std::string{}, std::string{"Basic"}, std::string{"Basic "}, std::string{"Basic YTp"},
        std::string{"Basic YTp5 "}, std::string{"Basic Y:p5"}, std::string{"BasicYTp5"},
        std::string{"Bearer YTp5"}, std::string{"\xffYTp5"}, basic("ay"), basic(std::string_view{"a:\0y", 4}),
        basic("a:y\n"), basic("a\x7f:y"), basic("a:x" + longest)}) {
    EXPECT_FALSE(read_basic(header, claim)) << header;
    EXPECT_TRUE(claim.user.empty() && claim.password.empty()) << header;
  }
}

class HttpLoginTest : public testing::Test {
 protected:
  HttpLoginTest() {
    credentials_.replace(
        test::users_of("users: [{name: a, password: y}, {name: b, password: x, role: administrator}]"));
  }

  Credentials credentials_{{.free = 4, .free_of_client = 1000, .most = 3}};
  PasswordDigester digester_;
  HttpLogin login_{credentials_, digester_, "192.0.2.1"};
};

TEST_F(HttpLoginTest, AHeaderThatWasAcceptedIsKnownAgainAndCountsOnce) {
  EXPECT_EQ(login_.ask(""), verdict::nobody);
  EXPECT_EQ(credentials_.commands(), 0U);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(login_.ask(basic("a:y")), verdict::accepted);
    EXPECT_FALSE(login_.user()->may_administer());
  }
  EXPECT_EQ(credentials_.commands(), 1U);
  EXPECT_EQ(login_.ask(""), verdict::nobody) << "each request says who makes it";
  ASSERT_EQ(login_.ask(basic("b:x")), verdict::accepted);
  EXPECT_TRUE(login_.user()->may_administer());
}

TEST_F(HttpLoginTest, UsersThatWereReplacedHoldFromTheNextRequestOn) {
  ASSERT_EQ(login_.ask(basic("b:x")), verdict::accepted);
  credentials_.replace(test::users_of("users: [{name: b, password: x}]"));
  ASSERT_EQ(login_.ask(basic("b:x")), verdict::accepted);
  EXPECT_FALSE(login_.user()->may_administer());
  credentials_.replace(test::users_of("users: [{name: b, password: z}]"));
  EXPECT_EQ(login_.ask(basic("b:x")), verdict::wrong);
  EXPECT_EQ(login_.user(), nullptr);
}

TEST_F(HttpLoginTest, AsManyWrongOnesAsAConnectionMayHaveAreTheLast) {
  EXPECT_EQ(login_.ask(basic("a:wrong")), verdict::wrong);
  EXPECT_EQ(login_.name(), "a");
  EXPECT_EQ(login_.ask("Digest x"), verdict::wrong);
  EXPECT_EQ(login_.name(), "") << "it named nobody";
  EXPECT_FALSE(login_.is_over());
  EXPECT_EQ(login_.ask(basic("c:y")), verdict::wrong);
  EXPECT_TRUE(login_.is_over());
}

TEST_F(HttpLoginTest, OneThatTakesAWhileIsAskedForAgain) {
  credentials_.replace(test::users_of("users: [{name: h, password: \"" + hash_password("secret") + "\"}]"));
  verdict found = login_.ask(basic("h:secret"));
  EXPECT_EQ(found, verdict::waits);
  while (found == verdict::waits) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    found = login_.look();
  }
  EXPECT_EQ(found, verdict::accepted);
  credentials_.stop();
  EXPECT_EQ(login_.ask(basic("h:wrong")), verdict::busy) << "the server ends";
}

}  // namespace
}  // namespace mxkv::server
