// Pinning is checked on this machine: a success moves the thread, a failure leaves it alone.
#include "runtime/topology/binding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <thread>

#include "runtime/topology/build.hpp"

namespace mxkv::runtime {
namespace {

TEST(Binding, APinnedThreadRunsOnItsPuOnly) {
  const Result<Topology> topology = live_topology();
  ASSERT_TRUE(topology.ok());
  for (const ProcessingUnit& unit : topology.value().pus) {
    std::thread{[&unit] {
      const Result<PuId> pinned = pin_current_thread(unit.pu);
      ASSERT_TRUE(pinned.ok()) << pinned.error().message;
      EXPECT_EQ(pinned.value(), unit.pu);
      EXPECT_EQ(sched_getcpu(), static_cast<int>(unit.pu.value()));
    }}.join();
  }
}

TEST(Binding, AnAbsentCpuIsAClearErrorAndChangesNothing) {
  std::thread{[] {
    cpu_set_t before;
    cpu_set_t after;
    ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof(before), &before), 0);
    for (const PuId absent : {PuId{1000}, PuId{5000}, PuId{65535}}) {
      const Result<PuId> pinned = pin_current_thread(absent);
      ASSERT_FALSE(pinned.ok());
      EXPECT_THAT(pinned.error().message,
                  ::testing::HasSubstr("CPU " + std::to_string(absent.value()) +
                                       ": this machine has no such CPU, or this process may not use it"));
    }
    ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof(after), &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }}.join();
}

}  // namespace
}  // namespace mxkv::runtime
