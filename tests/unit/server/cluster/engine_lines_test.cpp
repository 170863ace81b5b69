// Log lines of the broker client's library: few at a time, and dropped ones are counted.
#include "server/cluster/engine_lines.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace mxkv::server {
namespace {

using testing::ElementsAre;

TEST(EngineLines, AreKeptUntilThereIsALogAndNotWrittenBehindIt) {
  EngineLines lines;
  lines.say(true, "before", 1);
  std::vector<std::string> log;
  lines.write_to([&log](bool grave, const std::string& line) { log.push_back((grave ? "! " : "") + line); });
  lines.say(false, "then", 2);
  EXPECT_THAT(log, ElementsAre("! before", "then"));
  lines.write_to({});
  lines.say(false, "later", 3);
  EXPECT_EQ(log.size(), 2U);
}

TEST(EngineLines, OfAStormAFewAreWrittenAndTheOthersCounted) {
  EngineLines lines;
  std::vector<std::string> log;
  lines.write_to([&log](bool /*grave*/, const std::string& line) { log.push_back(line); });
  for (int i = 0; i < 100; ++i) {
    lines.say(true, "connect failed", 1000);
  }
  EXPECT_EQ(log.size(), EngineLines::kMostLines);
  lines.say(true, "connect failed", 1000 + EngineLines::kWhileNs);
  ASSERT_EQ(log.size(), EngineLines::kMostLines + 1);
  EXPECT_EQ(log.back(), "connect failed (95 lines before it were left out)");
}

}  // namespace
}  // namespace mxkv::server
