// One line a second for each kind of event; eviction begins and ends.
#include "server/daemon/chronicle.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mxkv::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ChronicleTest : public ::testing::Test, protected HappeningBell {
 protected:
  ChronicleTest() { happenings.set_bell(*this); }

  std::uint64_t used = 2U << 20U;
  std::vector<std::string> tell() {
    std::vector<std::string> texts;
    for (const Chronicle::Line& line : chronicle.tell(
             now, happenings, {.connections_most = 9, .memory_used = used, .memory_most = 2U << 20U})) {
      (line.how == config::log_level::debug ? debug : texts).push_back(line.text);
    }
    return texts;
  }
  auto next() { return chronicle.next(now, happenings); }

  Chronicle chronicle;
  Happenings happenings;
  Chronicle::Time now{seconds{100}};
  int rings = 0;
  std::vector<std::string> debug;  ///< lines of that level

 private:
  void ring() noexcept override { ++rings; }
};

TEST_F(ChronicleTest, TellsNothingWhereNothingHappens) {
  EXPECT_TRUE(tell().empty());
  EXPECT_FALSE(next()) << "nobody needs to look";
}

TEST_F(ChronicleTest, RingsOnceAndTellsOneLineASecond) {
  for (int i = 0; i < 20'000; ++i) {
    happenings.note(happening::wrong_login, {.client = "tcp:10.0.0." + std::to_string(i % 200)});
  }
  EXPECT_EQ(rings, 1);
  EXPECT_EQ(tell(), std::vector<std::string>{"wrong user or password from tcp:10.0.0.0 (and 19999 more)"});
  happenings.note(happening::wrong_login, {.client = "tcp:10.0.0.7"});
  EXPECT_EQ(rings, 2);
  now += milliseconds{400};
  EXPECT_TRUE(tell().empty()) << "not yet";
  EXPECT_EQ(next(), milliseconds{600});
  now += milliseconds{600};
  EXPECT_EQ(tell(), std::vector<std::string>{"wrong user or password from tcp:10.0.0.7"});
  EXPECT_FALSE(next());
}

TEST_F(ChronicleTest, ForbiddenRequestsAreOneLineASecondWithTheFirst) {
  for (const char* const about : {" as \"ann\": set", " as \"bob\": flush_all"}) {
    happenings.note(happening::forbidden, {.client = "tcp:1", .text = about});
  }
  EXPECT_EQ(tell(), std::vector<std::string>{"forbidden to tcp:1 as \"ann\": set (and 1 more)"});
}

TEST_F(ChronicleTest, EachKindIsALineOfItsOwn) {
  happenings.note(happening::too_many_connections);
  happenings.note(happening::foreign_protocol, {.client = "tcp:1", .text = ": it speaks TLS"});
  happenings.note(happening::no_memory);
  happenings.note(happening::no_memory);
  EXPECT_EQ(tell(), (std::vector<std::string>{
                        "connections refused: 1 (limits.connections is 9)", "closed tcp:1: it speaks TLS",
                        "writes refused for lack of memory: 2 (2MiB of 2MiB are used)"}));
}

TEST_F(ChronicleTest, EvictionWhileMemoryIsFreeIsOfAPrefix) {
  used = 1U << 20U;
  happenings.note(happening::evicted);
  EXPECT_EQ(tell(),
            std::vector<std::string>{"a prefix is full (1MiB of 2MiB are used in all, see `stats prefixes`): "
                                     "items are evicted"});
}

TEST_F(ChronicleTest, EvictionBeginsAndEndsHoweverLongItLasts) {
  happenings.note(happening::evicted);
  EXPECT_EQ(tell(), std::vector<std::string>{"memory is full (2MiB of 2MiB): items are evicted"});
  for (int second = 0; second < 30; ++second) {
    now += seconds{1};
    happenings.note(happening::evicted);
    happenings.note(happening::evicted);
    EXPECT_TRUE(tell().empty());
  }
  EXPECT_EQ(debug.size(), 31U) << "each second";
  EXPECT_EQ(debug.back(), "evicted 2 items (2MiB of 2MiB are used)");
  EXPECT_EQ(next(), Chronicle::kEvictionRests);
  now += seconds{9};
  EXPECT_TRUE(tell().empty());
  now += seconds{1};
  EXPECT_EQ(tell(), std::vector<std::string>{"eviction has ended: 61 items in 31 s"});
  EXPECT_FALSE(next());
}

TEST_F(ChronicleTest, LinesNameTheirEventForPrograms) {
  happenings.note(happening::slow,
                  {.client = "tcp:1", .text = " k", .command = "get", .took_ns = 12'345'678});
  happenings.note(happening::slow, {.client = "tcp:2", .command = "set", .took_ns = 11'000'000});
  happenings.note(happening::no_memory);
  const std::vector<Chronicle::Line> lines = chronicle.tell(now, happenings, {});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].event.name, "no_memory");
  EXPECT_EQ(lines[1].event.name, "slow_request");
  EXPECT_EQ(lines[1].event.times, 2U);
  EXPECT_EQ(lines[1].text, "slow request: get k from tcp:1 took 12 ms (and 1 more)");
  EXPECT_EQ(lines[1].event.subject.command, "get");
  EXPECT_EQ(lines[1].event.subject.client, "tcp:1");
}

TEST_F(ChronicleTest, EventsBeforeTheFirstListenerAreLogged) {
  Happenings early;
  early.note(happening::flushed, {.client = "tcp:1"});
  early.set_bell(*this);
  EXPECT_EQ(chronicle.tell(now, early, {}).size(), 1U);
}

}  // namespace
}  // namespace mxkv::server
