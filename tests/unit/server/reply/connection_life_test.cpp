// Every transition of a connection's life from every stage that it may start from, and that it asserts in all others.
#include "server/reply/connection_life.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mxkv::server::test {
namespace {

using Transition = void (ConnectionLife::*)() noexcept;

struct NamedTransition {
  const char* name;
  Transition happen;
  std::vector<life_stage> from;
  life_stage to;
};

const std::vector<life_stage>& stages() {
  static const std::vector<life_stage> all{life_stage::closed,  life_stage::greeting, life_stage::serving,
                                           life_stage::leaving, life_stage::draining, life_stage::silenced,
                                           life_stage::cut};
  return all;
}

const std::vector<NamedTransition>& transitions() {
  static const std::vector<life_stage> answering{life_stage::serving, life_stage::leaving,
                                                 life_stage::draining};
  static const std::vector<NamedTransition> all{
      {"begin", &ConnectionLife::begin, {life_stage::closed}, life_stage::serving},
      {"greet", &ConnectionLife::greet, {life_stage::serving}, life_stage::greeting},
      {"end_greeting", &ConnectionLife::end_greeting, {life_stage::greeting}, life_stage::serving},
      {"leave", &ConnectionLife::leave, {life_stage::serving}, life_stage::leaving},
      {"stay", &ConnectionLife::stay, {life_stage::leaving}, life_stage::serving},
      {"drain", &ConnectionLife::drain, {life_stage::serving, life_stage::leaving}, life_stage::draining},
      {"silence", &ConnectionLife::silence, answering, life_stage::silenced},
      {"cut", &ConnectionLife::cut, answering, life_stage::cut},
      {"end",
       &ConnectionLife::end,
       {life_stage::greeting, life_stage::serving, life_stage::leaving, life_stage::draining,
        life_stage::silenced, life_stage::cut},
       life_stage::closed}};
  return all;
}

ConnectionLife at(life_stage stage) {
  ConnectionLife life;
  if (stage == life_stage::closed) {
    return life;
  }
  life.begin();
  switch (stage) {
    case life_stage::greeting:
      life.greet();
      break;
    case life_stage::leaving:
      life.leave();
      break;
    case life_stage::draining:
      life.drain();
      break;
    case life_stage::silenced:
      life.silence();
      break;
    case life_stage::cut:
      life.cut();
      break;
    case life_stage::closed:
    case life_stage::serving:
      break;
  }
  return life;
}

TEST(ConnectionLife, EachTransitionLeadsWhereTheTableSays) {
  for (const NamedTransition& each : transitions()) {
    for (const life_stage from : each.from) {
      ConnectionLife life = at(from);
      ASSERT_TRUE(life.is(from));
      (life.*each.happen)();
      EXPECT_EQ(life.current(), each.to) << each.name << " from stage " << static_cast<int>(from);
    }
  }
}

TEST(ConnectionLife, RepliesAreWrittenWhileItServesLeavesOrDrains) {
  for (const life_stage stage : stages()) {
    const bool answers =
        stage == life_stage::serving || stage == life_stage::leaving || stage == life_stage::draining;
    EXPECT_EQ(at(stage).answers(), answers) << "stage " << static_cast<int>(stage);
  }
}

TEST(ConnectionLifeDeathTest, ATransitionFromAnyOtherStageAsserts) {
  for (const NamedTransition& each : transitions()) {
    for (const life_stage from : stages()) {
      if (std::find(each.from.begin(), each.from.end(), from) == each.from.end()) {
        ConnectionLife life = at(from);
        EXPECT_DEATH((life.*each.happen)(), "connection_life.hpp")
            << each.name << " from stage " << static_cast<int>(from);
      }
    }
  }
}

}  // namespace
}  // namespace mxkv::server::test
