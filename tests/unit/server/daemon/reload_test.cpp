// The differences between two configurations, and those that a running daemon applies.
#include "server/daemon/reload.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/load.hpp"

namespace mxkv::server {
namespace {

config::DaemonOptions with(const std::vector<std::string>& sets) {
  return config::load(std::nullopt, sets).value();
}

TEST(Changes, AreNoneOfTheSameOptions) {
  EXPECT_TRUE(changes(with({}), with({})).empty());
  EXPECT_TRUE(changes(with({"limits.pipeline=7"}), with({"limits.pipeline=7"})).empty());
}

TEST(Changes, NameKeyAndBothValues) {
  const std::vector<Change> found =
      changes(with({"log.file=/a = b"}), with({"workers=3", "log.level=debug", "log.file=/a = c"}));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].path, "workers");
  EXPECT_EQ(found[0].before, "auto");
  EXPECT_EQ(found[0].after, "3");
  EXPECT_EQ(found[1].path, "log.level");
  EXPECT_EQ(found[2].path, "log.file");
  EXPECT_EQ(found[2].after, "/a = c");
}

TEST(ChangesWhileRunning, AreLimitsTimeOutsLoggingAndDurability) {
  for (const char* path :
       {"limits.connections", "limits.value_bytes", "limits.idle_timeout", "limits.scan_time",
        "server.drain_timeout", "log.level", "log.rate", "log.rotate_bytes", "durability.sync",
        "durability.reads", "durability.checkpoint.rate", "memory.limit", "memory.when_full",
        "memory.evict_for", "log.file", "log.format", "server.balance", "spin_rounds"}) {
    EXPECT_TRUE(changes_while_running(path)) << path;
  }
  for (const char* path :
       {"listeners", "workers", "memory.huge_pages", "experimental.prefetch.mode", "server.pid_file",
        "server.daemonize", "server.debug_time", "limits", "durability.directory", "durability.segment",
        "cluster.name", "cluster.lease", "cluster.properties"}) {
    EXPECT_FALSE(changes_while_running(path)) << path;
  }
}

}  // namespace
}  // namespace mxkv::server
