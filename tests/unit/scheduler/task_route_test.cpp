// Where a spawned task goes, by its annotations: the whole table.
#include "runtime/scheduler/task_route.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::runtime {
namespace {

using testing::Words;

constexpr WorkerId kSelf{3};

struct Route {
  const char* what;
  std::optional<primitive> how;
  runtime::access access = access::readonly;
  priority urgency = priority::normal;
  locality nearness = locality::here;
  Target target{Target::kAnywhere};
  task_route wanted = task_route::to_ready;
};

const std::vector<Route>& routes() {
  static const std::vector<Route> kRoutes{
      {.what = "a plain task", .how = {}},
      {.what = "a read of a latched object", .how = primitive::optimistic_latch},
      {.what = "a write of a latched object", .how = primitive::optimistic_latch, .access = access::write},
      {.what = "a read of a scheduled object", .how = primitive::optimistic_scheduling},
      {.what = "a write of a scheduled object",
       .how = primitive::optimistic_scheduling,
       .access = access::write,
       .wanted = task_route::to_pool},
      {.what = "any task of a serialized object",
       .how = primitive::serialized_by_scheduling,
       .wanted = task_route::to_pool},
      {.what = "one that is urgent, too",
       .how = primitive::serialized_by_scheduling,
       .urgency = priority::high,
       .wanted = task_route::to_pool},
      {.what = "an urgent one", .how = {}, .urgency = priority::high, .wanted = task_route::to_urgent},
      {.what = "one of low priority", .how = {}, .urgency = priority::low, .wanted = task_route::to_low},
      {.what = "an immediate one",
       .how = {},
       .urgency = priority::high,
       .nearness = locality::immediate,
       .wanted = task_route::to_immediate},
      {.what = "a deferred one",
       .how = {},
       .nearness = locality::deferred,
       .wanted = task_route::to_deferred},
      {.what = "one for this worker", .how = {}, .target = Target{kSelf}},
      {.what = "one for another worker",
       .how = {},
       .target = Target{WorkerId{4}},
       .wanted = task_route::to_place},
      {.what = "a bound one for a pool",
       .how = primitive::serialized_by_scheduling,
       .target = Target{PoolId{3}},
       .wanted = task_route::to_place},
  };
  return kRoutes;
}

TEST(TaskRoute, APlaceGoesFirstThenTheObjectsPoolThenLocalityThenPriority) {
  for (const Route& route : routes()) {
    Words<> object{PoolId{1}, route.how.value_or(primitive::none)};
    MxTask task{nullptr};
    if (route.how) {
      task.annotate(object.tagged(), 64);
    }
    task.annotate(route.access);
    task.annotate(route.urgency);
    task.annotate(route.nearness);
    task.annotations().target = route.target.encoded();
    EXPECT_EQ(route_of(task, kSelf), route.wanted) << route.what;
  }
}

TEST(TaskRoute, ATaskThatKeepsItsPlaceIsNeverBoundToAPool) {
  for (const primitive how :
       {primitive::none, primitive::serialized_by_scheduling, primitive::optimistic_latch,
        primitive::optimistic_scheduling, primitive::spin_latch, primitive::reader_writer_latch}) {
    Words<> object{PoolId{1}, how};
    MxTask task{nullptr};
    task.annotate(object.tagged(), 64);
    task.annotate(access::write);
    EXPECT_TRUE(!keeps_its_place(task) || !is_bound(task));
    if (how != primitive::serialized_by_scheduling && how != primitive::optimistic_scheduling) {
      EXPECT_TRUE(keeps_its_place(task));
    }
    task.annotate(WorkerId{0});
    EXPECT_FALSE(keeps_its_place(task)) << "who is sent elsewhere leaves";
  }
}

}  // namespace
}  // namespace mxkv::runtime
