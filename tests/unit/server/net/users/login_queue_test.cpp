// The order in which logins are checked, and which of them lose their places.
#include "server/net/users/login_queue.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/net/users/credentials.hpp"

namespace mxkv::server {
namespace {

class Queue {
 public:
  using trust = LoginQueue::trust;
  static constexpr LoginQueue::Time kNow{std::chrono::hours{1}};

  /// Returns the login that lost its place: "user at address".
  std::string put(const std::string& address, const std::string& user, trust trusted = trust::clean,
                  LoginQueue::Time due = kNow) {
    auto login = std::make_shared<Login>(
        Login::Claim{.user = user + " at " + address, .password = {}, .client = address});
    return name_of(queue.put(std::move(login), address, user, due, trusted));
  }
  std::string take(LoginQueue::Time now = kNow) { return name_of(queue.take(now)); }
  std::vector<std::string> take_all() {
    std::vector<std::string> all;
    for (std::string one = take(); !one.empty(); one = take()) {
      all.push_back(one);
    }
    return all;
  }
  LoginQueue queue;

 private:
  static std::string name_of(const std::shared_ptr<Login>& login) {
    return login == nullptr ? "" : login->name();
  }
};

using trust = LoginQueue::trust;
using Order = std::vector<std::string>;

TEST(LoginQueue, AddressesTakeTurnsHoweverManyLoginsOneHas) {
  Queue queue;
  for (int i = 0; i < 3; ++i) {
    queue.put("a", "x");
  }
  queue.put("b", "y", trust::clean, Queue::kNow - std::chrono::milliseconds{1});
  const Order all = queue.take_all();
  EXPECT_EQ(all, (Order{"y at b", "x at a", "x at a", "x at a"}));
  EXPECT_TRUE(queue.queue.empty());
}

TEST(LoginQueue, OneThatConnectsAnewDoesNotOvertakeThoseThatWait) {
  Queue queue;
  for (const char* const address : {"a", "b", "c"}) {
    queue.put(address, "x");
  }
  const std::string first = queue.take();
  queue.put(first.substr(first.size() - 1), "x", trust::clean, Queue::kNow - std::chrono::seconds{1});
  EXPECT_NE(queue.take(), first);
  EXPECT_NE(queue.take(), first);
  EXPECT_EQ(queue.take(), first);
}

TEST(LoginQueue, EverySecondCheckIsForAddressesWithoutWrongPasswords) {
  Queue queue;
  for (const char* const address : {"a", "b", "c", "d"}) {
    queue.put(address, "guess", trust::suspect);
  }
  queue.put("e", "x");
  queue.put("f", "x");
  const Order all = queue.take_all();
  ASSERT_EQ(all.size(), 6U);
  EXPECT_TRUE(all[0].starts_with("x at ")) << all[0];
  EXPECT_TRUE(all[1].starts_with("guess at ")) << all[1];
  EXPECT_TRUE(all[2].starts_with("x at ")) << all[2];
}

TEST(LoginQueue, UsersOfAnAddressTakeTurns) {
  Queue queue;
  for (int i = 0; i < 5; ++i) {
    queue.put("a", "root");
  }
  queue.put("a", "ann");
  const Order all = queue.take_all();
  ASSERT_EQ(all.size(), 6U);
  EXPECT_TRUE(all[0] == "ann at a" || all[1] == "ann at a");
}

TEST(LoginQueue, ADelayedLoginWaitsAndHoldsUpNoOther) {
  Queue queue;
  queue.put("a", "x", trust::suspect, Queue::kNow + std::chrono::seconds{5});
  queue.put("b", "y", trust::suspect, Queue::kNow + std::chrono::seconds{1});
  EXPECT_EQ(queue.take(), "");
  EXPECT_EQ(queue.queue.next_due(), Queue::kNow + std::chrono::seconds{1});
  EXPECT_EQ(queue.take(Queue::kNow + std::chrono::seconds{1}), "y at b");
  EXPECT_EQ(queue.take(Queue::kNow + std::chrono::seconds{1}), "");
  EXPECT_EQ(queue.take(Queue::kNow + std::chrono::seconds{5}), "x at a");
  EXPECT_EQ(queue.queue.next_due(), std::nullopt);
}

TEST(LoginQueue, WhereItIsFullTheAddressWithTheMostLosesOne) {
  Queue queue;
  queue.put("b", "ann");
  for (std::size_t i = 1; i < LoginQueue::kMost; ++i) {
    ASSERT_EQ(queue.put("a", i % 3 == 0 ? "ann" : "root"), "");
  }
  EXPECT_EQ(queue.put("c", "ann"), "root at a");
  EXPECT_EQ(queue.put("a", "ann"), "root at a");
}

TEST(LoginQueue, ASuspectAddressKeepsFewOfItsLogins) {
  Queue queue;
  for (std::size_t i = 0; i < 2 * LoginQueue::kMostOfSuspect; ++i) {
    EXPECT_EQ(queue.put("a", "root"), "") << "many connect at once after a restart";
  }
  EXPECT_TRUE(queue.queue.distrust("a", trust::wrong_once).empty());
  EXPECT_TRUE(queue.queue.distrust("b", trust::suspect).empty()) << "an address without logins";
  EXPECT_EQ(queue.queue.distrust("a", trust::suspect).size(), LoginQueue::kMostOfSuspect);
  EXPECT_EQ(queue.put("a", "ann", trust::suspect), "root at a");
  EXPECT_EQ(queue.put("a", "root", trust::suspect), "root at a");
  EXPECT_EQ(queue.take_all().size(), LoginQueue::kMostOfSuspect);
}

}  // namespace
}  // namespace mxkv::server
