// Levels, forms, rotation by size, the limit on lines a second, and opening the file anew.
#include "server/daemon/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace mxkv::server {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    std::string name = std::filesystem::temp_directory_path() / "mxkv-log-XXXXXX";
    directory_ = mkdtemp(name.data());
    options_.file = directory_ / "mxkv.log";
  }
  ~LogTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string text(const char* name = "mxkv.log") const {
    std::ifstream file{directory_ / name};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  std::filesystem::path directory_;
  config::LogOptions options_;
};

TEST_F(LogTest, LinesHaveTimeLevelAndText) {
  Log{options_}.warning("two\nlines");
  EXPECT_THAT(text(), ContainsRegex("^20[0-9-]+ [0-9:.]+[+-][0-9:]+ warning two\\\\nlines\n$"));
}

TEST_F(LogTest, NoLineHoldsBytesThatATerminalObeys) {
  Log{options_}.info(
      "\x1b]0;x\x07 \xc2\x9b"
      "31m \x9b é");
  EXPECT_THAT(text(), EndsWith(" info \\x1b]0;x\\x07 \\xc2\\x9b31m \\x9b é\n"));
}

TEST_F(LogTest, OnlyLinksOfItsOwnUserAndOfRootAreFollowed) {
  const std::filesystem::path victim = directory_ / "victim";
  std::filesystem::create_symlink(victim, options_.file);
  EXPECT_EQ(Log::lack_of(options_), "") << "its own";
  if (::lchown(options_.file.c_str(), ::geteuid() + 1, static_cast<gid_t>(-1)) != 0) {
    GTEST_SKIP() << "only root gives a link away";
  }
  std::filesystem::remove(victim);
  for (const std::size_t rotate_bytes : {std::size_t{0}, std::size_t{4096}}) {
    options_.rotate_bytes = rotate_bytes;
    EXPECT_THAT(Log::lack_of(options_), HasSubstr("is a symbolic link of user "));
    EXPECT_THROW(Log{options_}, std::exception);
  }
  EXPECT_FALSE(std::filesystem::exists(victim));
}

TEST_F(LogTest, JsonLinesHaveThemAsMembers) {
  options_.format = config::log_format::json;
  Log{options_}.error("a \"b\"\n\xff");
  EXPECT_THAT(text(),
              ContainsRegex("^\\{\"time\":\"20[0-9T:.+-]+\",\"level\":\"error\",\"process\":[0-9]+,"));
  EXPECT_THAT(text(), EndsWith("\"message\":\"a \\\"b\\\"\\n\xEF\xBF\xBD\"}\n"));
}

TEST_F(LogTest, JsonLinesOfEventsHaveTheirNameTimesAndClient) {
  options_.format = config::log_format::json;
  Log{options_}.write(
      config::log_level::info, "slow request: a (and 1 more)",
      {.name = "slow_request",
       .times = 2,
       .subject = {.client = "a", .text = " \"b\"", .user = "u", .command = "get", .took_ns = 12'000'000}});
  EXPECT_THAT(
      text(),
      EndsWith("\"message\":\"slow request: a (and 1 more)\",\"event\":\"slow_request\","
               "\"times\":2,\"about\":\"a \\\"b\\\"\",\"client\":\"a\",\"user\":\"u\",\"command\":\"get\","
               "\"took_ms\":12}\n"));
}

TEST_F(LogTest, LinesBelowTheLevelAreLeftOut) {
  options_.level = config::log_level::warning;
  Log log{options_};
  log.info("quiet");
  log.warning("loud");
  options_.level = config::log_level::debug;
  EXPECT_EQ(log.reopen(options_), "");
  log.debug("now heard");
  EXPECT_THAT(text(), Not(HasSubstr("quiet")));
  EXPECT_THAT(text(), HasSubstr("loud"));
  EXPECT_THAT(text(), HasSubstr("debug now heard"));
}

TEST_F(LogTest, AFileIsRotatedAtItsSizeAndSoManyAreKept) {
  options_.rotate_bytes = 4096;
  options_.rotate_files = 2;
  options_.rate = 0;
  Log log{options_};
  const std::string line(200, 'x');
  for (int i = 0; i < 100; ++i) {
    log.info(line + std::to_string(i));
  }
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator{directory_}) {
    EXPECT_LE(file.file_size(), 4096U) << file.path();
    ++files;
  }
  EXPECT_EQ(files, 3U);
  EXPECT_THAT(text(), HasSubstr("x99\n"));
  EXPECT_THAT(text("mxkv.1.log") + text(), HasSubstr("x85\n"));
}

TEST_F(LogTest, LinesBeyondTheRateAreCountedInOne) {
  options_.rate = 5;
  {
    Log log{options_};
    for (int i = 0; i < 1000; ++i) {
      log.info("line");
    }
    EXPECT_TRUE(log.owes_note());
  }
  // However long that took: every line that was not written is counted.
  const std::string all = text();
  std::size_t written = 0;
  for (std::size_t at = all.find("info line\n"); at != std::string::npos;
       at = all.find("info line\n", at + 1)) {
    ++written;
  }
  std::size_t left_out = 0;
  constexpr std::string_view kNote = " lines were left out (log.rate: 5 a second)\n";
  for (std::size_t at = all.find(kNote); at != std::string::npos; at = all.find(kNote, at + 1)) {
    left_out += std::stoul(all.substr(all.rfind(' ', at - 1) + 1));
  }
  EXPECT_EQ(written + left_out, 1000U);
  EXPECT_GE(written, 5U);
  EXPECT_GT(left_out, 0U);
}

TEST_F(LogTest, ReopenBeginsAFileThatWasRenamedAnew) {
  Log log{options_};
  log.info("before");
  std::filesystem::rename(directory_ / "mxkv.log", directory_ / "old");
  EXPECT_EQ(log.reopen(options_), "");
  log.info("after");
  EXPECT_THAT(text("old"), Not(HasSubstr("after")));
  EXPECT_THAT(text(), ContainsRegex("^20[0-9-]+ [0-9:.]+[+-][0-9:]+ info after\n$"));
}

TEST_F(LogTest, AFolderThatIsNotThereIsAnErrorAndIsNotMade) {
  const std::filesystem::path missing = directory_ / "missing";
  options_.file = missing / "mxkv.log";
  EXPECT_THROW(Log{options_}, std::exception);
  options_.rotate_bytes = 4096;
  EXPECT_THROW(Log{options_}, std::exception);
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST_F(LogTest, AFolderThatGoesIsMadeNeitherByReopeningNorByRotation) {
  options_.rotate_bytes = 4096;
  options_.rate = 0;
  Log log{options_};
  std::filesystem::remove_all(directory_);
  EXPECT_EQ(log.reopen(options_), "the folder " + directory_.string() + " does not exist");
  for (int i = 0; i < 100; ++i) {
    log.info(std::string(100, 'x'));
  }
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(LogTest, ReopenThatFailsKeepsTheOldFile) {
  Log log{options_};
  std::filesystem::rename(directory_, directory_.string() + "-moved");
  std::ofstream{directory_}.put('x');
  EXPECT_EQ(log.reopen(options_), "the folder " + directory_.string() + " does not exist");
  log.info("still here");
  std::filesystem::remove(directory_);
  std::filesystem::rename(directory_.string() + "-moved", directory_);
  EXPECT_THAT(text(), HasSubstr("still here"));
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsAnError) {
  options_.file = "/dev/null/mxkv.log";  // no directory can be made there
  EXPECT_ANY_THROW(Log{options_});
}

}  // namespace
}  // namespace mxkv::server
