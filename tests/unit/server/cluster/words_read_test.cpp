// Which changes of an owner are known, from statuses that may be delayed for any time.
#include "server/cluster/words_read.hpp"

#include <gtest/gtest.h>

namespace mxkv::server {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// The status of an owner that has read the board up to `read`.
Presence says(std::uint64_t read, std::uint64_t behind_ns = 0) {
  return {.name = "b",
          .process = 7,
          .address = "",
          .peer = "",
          .version = "",
          .read = read,
          .behind_ns = behind_ns,
          .shards = {}};
}

TEST(WordsReadTest, NothingIsKnownBeforeAnOwnWordCameBack) {
  WordsRead words;
  EXPECT_EQ(words.known_ns(says(100)), 0U);
  words.add(5, 70 * kSecond);
  EXPECT_EQ(words.known_ns(says(5)), 0U) << "the owner had not read it";
  EXPECT_EQ(words.known_ns(says(6)), 70 * kSecond);
}

// The owner wrote its status after it had read this node's; when that status arrives does not matter.
TEST(WordsReadTest, ALateStatusCountsForTheTimeWhenItWasWritten) {
  WordsRead words;
  for (std::uint64_t second = 1; second <= 30; ++second) {
    words.add(2 * second, second * kSecond);
  }
  EXPECT_EQ(words.known_ns(says(21)), 10 * kSecond) << "20 s on its way";
  EXPECT_EQ(words.known_ns(says(61)), 30 * kSecond);
}

TEST(WordsReadTest, ChangesThatTheLogsHaveNotAcknowledgedAreNotKnown) {
  WordsRead words;
  words.add(5, 70 * kSecond);
  EXPECT_EQ(words.known_ns(says(6, 8 * kSecond)), 61 * kSecond) << "and clocks differ by an eighth at most";
  EXPECT_EQ(words.known_ns(says(6, 100 * kSecond)), 0U);
  EXPECT_EQ(words.known_ns(says(6, Presence::kNotTold)), 0U);
}

TEST(WordsReadTest, OldWordsAreForgotten) {
  WordsRead words;
  for (std::uint64_t second = 1; second <= 1000; ++second) {
    words.add(second, second * kSecond);
  }
  EXPECT_EQ(words.known_ns(says(500)), 0U);
  EXPECT_EQ(words.known_ns(says(1001)), 1000 * kSecond);
}

}  // namespace
}  // namespace mxkv::server
