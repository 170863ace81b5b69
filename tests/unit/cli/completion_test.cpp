// Completion of words that need no server.
#include "protocol/clients/cli/shell/completion.hpp"

#include <gtest/gtest.h>

namespace mxkv::cli {
namespace {

using Words = std::vector<std::string>;

TEST(Completion, CommandsAndOptionsByTheirBeginning) {
  Session session(Settings{.server = "unix:/nowhere/at/all"});
  EXPECT_EQ(complete_line(session, "sca").whole, Words{"scan"});
  EXPECT_EQ(complete_line(session, "help mem").whole, Words{"memory"});
  EXPECT_EQ(complete_line(session, "scan --rev").whole, Words{"--reverse"});
  EXPECT_EQ(complete_line(session, "scan --rev").stem, "--rev");
}

TEST(Completion, RawOffersTheCommandsOfTheProtocol) {
  Session session(Settings{.server = "unix:/nowhere/at/all"});
  EXPECT_EQ(complete_line(session, "raw sta").whole, Words{"stats"});
  EXPECT_EQ(complete_line(session, "raw ge").whole, (Words{"get", "gets"}));
  EXPECT_EQ(complete_line(session, "raw metad").whole, Words{}) << "the second word of lru_crawler";
  EXPECT_EQ(complete_line(session, "raw").whole, Words{"raw"});
}

TEST(Completion, OffersTheWordsThatACommandKnows) {
  Session session(Settings{.server = "unix:/nowhere/at/all"});
  EXPECT_EQ(complete_line(session, "config ").whole, (Words{"get", "set"}));
  EXPECT_EQ(complete_line(session, "clients l").whole, Words{"list"});
  EXPECT_EQ(complete_line(session, "clients kill l").whole, Words{});
  EXPECT_EQ(complete_line(session, "stats la").whole, Words{"latency"});
  EXPECT_EQ(complete_line(session, "watch mutations ev").whole, Words{"evictions"});
  EXPECT_EQ(complete_line(session, "GET --fu").whole, Words{"--full"}) << "commands in any case";
}

TEST(Completion, AServerThatIsNotThereCompletesNothing) {
  Session session(Settings{.server = "unix:/nowhere/at/all"});
  EXPECT_EQ(complete_line(session, "get us").whole, Words{});
}

TEST(Completion, TheCommonBeginning) {
  EXPECT_EQ(common_beginning({"user:1", "user:2", "use"}), "use");
  EXPECT_EQ(common_beginning({}), "");
}

}  // namespace
}  // namespace mxkv::cli
