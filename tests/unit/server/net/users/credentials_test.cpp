// Users known at once or later, the delays after wrong passwords, and connections that were logged in before a change.
#include "server/net/users/credentials.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/unit/server/net/users/known_users.hpp"

namespace mxkv::server {
namespace {

using test::users_of;

std::string hashed_users(const std::string& role = "reader") {
  const std::string hash = hash_password("secret");
  return "users:\n  - {name: ann, password: \"" + hash + "\", role: " + role + "}\n";
}

class HeardBell final : public LoginBell {
 public:
  void login_judged() noexcept override {
    const std::scoped_lock lock{mutex_};
    ++rung_;
    called_.notify_all();
  }
  void wait_for(std::size_t times) {
    std::unique_lock lock{mutex_};
    called_.wait(lock, [&] { return rung_ >= times; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable called_;
  std::size_t rung_ = 0;
};

login_verdict verdict(Credentials& credentials, std::string user, std::string password) {
  return credentials
      .log_in({.user = std::move(user), .password = std::move(password), .client = {}}, nullptr)
      ->verdict();
}

TEST(Credentials, NoPrefixNoShiftAndNoPaddingIsTakenForTheWhole) {
  Credentials credentials;
  credentials.replace(users_of("ann:secret\nb:x:y z\n"));
  EXPECT_EQ(verdict(credentials, "ann", "secret"), login_verdict::accepted);
  EXPECT_EQ(verdict(credentials, "b", "x:y z"), login_verdict::accepted);
  for (const auto& [user, password] :
       std::initializer_list<std::pair<std::string, std::string>>{{"ann", "secre"},
                                                                  {"ann", "secrets"},
                                                                  {"an", "nsecret"},
                                                                  {"", ""},
                                                                  {"ann", ""},
                                                                  {"", "secret"},
                                                                  {"ann", {"secret\0", 7}},
                                                                  {{"ann\0", 4}, "secret"},
                                                                  {"Ann", "secret"},
                                                                  {"b:x", "y z"}}) {
    EXPECT_EQ(verdict(credentials, user, password), login_verdict::wrong) << user << " " << password;
  }
}

TEST(Credentials, ALineTwiceOfOneNameLetsInWithEitherPassword) {
  Credentials credentials;
  credentials.replace(users_of("ann:old\nann:new\n"));
  EXPECT_EQ(verdict(credentials, "ann", "old"), login_verdict::accepted);
  EXPECT_EQ(verdict(credentials, "ann", "new"), login_verdict::accepted);
  EXPECT_EQ(credentials.users(), 1U);
}

TEST(Credentials, AreRequiredOnceThereAreUsersAndCountAttempts) {
  Credentials credentials;
  EXPECT_FALSE(credentials.required());
  credentials.replace(users_of("ann:x\n"));
  EXPECT_TRUE(credentials.required());
  EXPECT_EQ(verdict(credentials, "ann", "x"), login_verdict::accepted);
  EXPECT_EQ(verdict(credentials, "ann", "y"), login_verdict::wrong);
  EXPECT_EQ(credentials.commands(), 2U);
  EXPECT_EQ(credentials.errors(), 1U);
  credentials.replace(users_of("bob:x\n"));
  EXPECT_EQ(verdict(credentials, "ann", "x"), login_verdict::wrong);
}

TEST(Credentials, AHashIsVerifiedOnAThreadOfItsOwnAndKnownFromThenOn) {
  Credentials credentials;
  credentials.replace(users_of(hashed_users()));
  HeardBell bell;
  const auto first = credentials.log_in({.user = "ann", .password = "secret", .client = {}}, &bell);
  const auto second = credentials.log_in({.user = "ann", .password = "wrong", .client = {}}, &bell);
  const auto third = credentials.log_in({.user = "nobody", .password = "secret", .client = {}}, &bell);
  bell.wait_for(3);
  EXPECT_EQ(first->verdict(), login_verdict::accepted);
  ASSERT_NE(first->user(), nullptr);
  EXPECT_EQ(first->user()->options.name, "ann");
  EXPECT_EQ(second->verdict(), login_verdict::wrong);
  EXPECT_EQ(third->verdict(), login_verdict::wrong);
  const auto again = credentials.log_in({.user = "ann", .password = "secret", .client = {}}, &bell);
  EXPECT_TRUE(again->judged()) << "it was verified before";
  EXPECT_EQ(again->verdict(), login_verdict::accepted);
  const auto wrong = credentials.log_in({.user = "ann", .password = "wrong", .client = {}}, &bell);
  EXPECT_FALSE(wrong->judged());
  credentials.stop();
}

TEST(Credentials, EveryWrongLoginTakesTheSameTime) {
  Credentials credentials;
  credentials.replace(users_of(hashed_users() + "  - {name: bob, password: clear}\n"));
  HeardBell bell;
  std::vector<std::shared_ptr<const Login>> wrong;
  for (const std::string user : {"ann", "bob", "nobody", ""}) {
    wrong.push_back(credentials.log_in({.user = user, .password = "wrong", .client = {}}, &bell));
    EXPECT_FALSE(wrong.back()->judged()) << user << ": a hash is made for each";
  }
  bell.wait_for(wrong.size());
  for (const std::shared_ptr<const Login>& each : wrong) {
    EXPECT_EQ(each->verdict(), login_verdict::wrong) << each->name();
  }
  const auto right = credentials.log_in({.user = "bob", .password = "clear", .client = {}}, &bell);
  EXPECT_TRUE(right->judged()) << "a right password in clear text needs none";
  EXPECT_EQ(right->verdict(), login_verdict::accepted);
  credentials.stop();
}

TEST(Credentials, TheHashOfAUserAdmitsNoOtherUser) {
  Credentials credentials;
  credentials.replace(users_of(hashed_users() + "  - {name: bob, password: clear}\n"));
  EXPECT_EQ(verdict(credentials, "bob", "secret"), login_verdict::wrong);
  EXPECT_EQ(verdict(credentials, "nobody", "secret"), login_verdict::wrong);
  EXPECT_EQ(verdict(credentials, "ann", "clear"), login_verdict::wrong);
  EXPECT_EQ(verdict(credentials, "ann", {"secret\0", 7}), login_verdict::wrong);
  EXPECT_EQ(verdict(credentials, "ann", {"secret\0more", 11}), login_verdict::wrong);
  EXPECT_EQ(verdict(credentials, "ann", "secret"), login_verdict::accepted);
}

TEST(Credentials, AClientStaysLoggedInWhileNothingOfItsUserChanges) {
  Credentials credentials;
  const std::string text = hashed_users("writer");
  credentials.replace(users_of(text));
  const auto user = credentials.log_in({.user = "ann", .password = "secret", .client = {}}, nullptr)->user();
  ASSERT_NE(user, nullptr);
  credentials.replace(users_of(text + "  - {name: bob, password: x}\n"));
  const auto now = credentials.still(*user);
  ASSERT_NE(now, nullptr);
  EXPECT_EQ(now->usage, user->usage) << "what it uses goes on";
  credentials.replace(users_of(hashed_users("writer")));
  EXPECT_EQ(credentials.still(*user), nullptr) << "another salt: another password, for all one knows";
  std::string reader = text;
  reader.replace(reader.find("writer"), 6, "reader");
  credentials.replace(users_of(reader));
  EXPECT_EQ(credentials.still(*user), nullptr);
  credentials.replace(users_of("bob:x\n"));
  EXPECT_EQ(credentials.still(*user), nullptr);
}

TEST(Credentials, WrongOnesHaveToWaitAndAClientThatHurriesIsTurnedAway) {
  Credentials credentials{{.free = 1, .first_ms = 60'000, .longest_ms = 60'000}};
  credentials.replace(users_of("ann:x\n"));
  HeardBell bell;
  const Login::Claim claim{.user = "ann", .password = "x", .client = "1.2.3.4", .failures = 1};
  const auto login = credentials.log_in(claim, &bell);
  EXPECT_FALSE(login->judged()) << "also the right one";
  credentials.hurry();
  bell.wait_for(1);
  EXPECT_EQ(login->verdict(), login_verdict::busy);
  EXPECT_EQ(credentials.log_in(claim, &bell)->verdict(), login_verdict::busy);
}

TEST(Credentials, ALoginThatWaitsAtTheEndIsJudgedWithoutABell) {
  Credentials credentials{{.free = 0, .first_ms = 60'000, .longest_ms = 60'000}};
  credentials.replace(users_of("ann:secret\n"));
  HeardBell bell;
  const auto waiting = credentials.log_in({.user = "ann", .password = "secret", .client = {}}, &bell);
  EXPECT_FALSE(waiting->judged());
  credentials.stop();
  ASSERT_TRUE(waiting->judged()) << "who asks again and again comes to an end";
  EXPECT_EQ(waiting->verdict(), login_verdict::busy);
}

TEST(Credentials, LoginsBeyondTheQueueGetBusy) {
  Credentials credentials{{.free = 0, .first_ms = 60'000, .longest_ms = 60'000}};
  credentials.replace(users_of("ann:x\n"));
  HeardBell bell;
  const Login::Claim claim{.user = "ann", .password = "x", .client = {}};
  for (std::size_t i = 0; i < LoginQueue::kMost; ++i) {
    ASSERT_FALSE(credentials.log_in(claim, &bell)->judged());
  }
  EXPECT_EQ(credentials.log_in(claim, &bell)->verdict(), login_verdict::busy);
  credentials.stop();
}

TEST(Credentials, ALoginFromElsewhereIsCheckedBeforeTheGuessesOfAnotherAddress) {
  Credentials credentials;
  credentials.replace(users_of(hashed_users()));
  HeardBell bell;
  std::vector<std::shared_ptr<const Login>> guesses;
  for (int i = 0; i < 40; ++i) {
    guesses.push_back(credentials.log_in({.user = "ann", .password = "guess", .client = "10.0.0.1"}, &bell));
  }
  const auto honest = credentials.log_in({.user = "ann", .password = "secret", .client = "10.0.0.2"}, &bell);
  while (!honest->judged()) {
    std::this_thread::yield();
  }
  const auto judged = std::ranges::count_if(guesses, [](const auto& guess) { return guess->judged(); });
  EXPECT_EQ(honest->verdict(), login_verdict::accepted);
  EXPECT_LT(judged, 40) << "they are still being checked";
  credentials.stop();
}

TEST(Credentials, AnAddressThatGuessesDoesNotFillTheQueue) {
  Credentials credentials{{.free_of_client = 1, .first_ms = 60'000, .longest_ms = 60'000}};
  credentials.replace(users_of("ann:x\n"));
  HeardBell bell;
  EXPECT_EQ(credentials.log_in({.user = "ann", .password = "y", .client = "10.0.0.1"}, &bell)->verdict(),
            login_verdict::wrong);
  const auto claim = [](const char* user) {
    return Login::Claim{.user = user, .password = "x", .client = "10.0.0.1"};
  };
  std::vector<std::shared_ptr<const Login>> guesses;
  for (std::size_t i = 0; i < LoginQueue::kMostOfSuspect; ++i) {
    guesses.push_back(credentials.log_in(claim("root"), &bell));
  }
  EXPECT_EQ(credentials.log_in(claim("root"), &bell)->verdict(), login_verdict::busy);
  EXPECT_FALSE(credentials.log_in(claim("ann"), &bell)->judged()) << "another user of that address may wait";
  bell.wait_for(1);
  EXPECT_EQ(std::ranges::count_if(guesses, [](const auto& guess) { return guess->judged(); }), 1)
      << "one of the guesses lost its place";
  credentials.stop();
}

TEST(Credentials, AWrongPasswordOfAClearTextUserTakesAsLongAsAnUnknownName) {
  Credentials credentials;
  credentials.replace(users_of(hashed_users() + "  - {name: bob, password: clear}\n"));
  HeardBell bell;
  for (const char* const name : {"bob", "nobody", "ann"}) {
    EXPECT_FALSE(credentials.log_in({.user = name, .password = "wrong", .client = {}}, &bell)->judged())
        << name;
  }
  EXPECT_EQ(credentials.log_in({.user = "bob", .password = "clear", .client = {}}, &bell)->verdict(),
            login_verdict::accepted);
  bell.wait_for(3);
  EXPECT_EQ(credentials.errors(), 3U);
  credentials.stop();
}

TEST(Credentials, UsersMayBeReplacedWhileManyLogIn) {
  Credentials credentials;
  const std::string text = hashed_users();
  credentials.replace(users_of(text));
  HeardBell bell;
  std::vector<std::thread> threads;
  std::atomic<int> accepted{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::vector<std::shared_ptr<const Login>> logins;
      std::size_t later = 0;
      for (int n = 0; n < 5; ++n) {
        logins.push_back(credentials.log_in({.user = "ann", .password = "secret", .client = {}}, &bell));
      }
      for (const auto& login : logins) {
        while (!login->judged()) {
          std::this_thread::yield();
        }
        later += login->verdict() == login_verdict::accepted ? 1U : 0U;
      }
      accepted += static_cast<int>(later);
    });
  }
  for (int i = 0; i < 20; ++i) {
    credentials.replace(users_of(text));
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(accepted.load(), 20);
  credentials.stop();  // before the bell is destroyed
}

}  // namespace
}  // namespace mxkv::server
