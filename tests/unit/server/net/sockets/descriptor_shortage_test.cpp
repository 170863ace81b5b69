// Log lines and counters when descriptors run out: at most one line every ten seconds, and a count of all
// refused connections.
#include "server/net/sockets/descriptor_shortage.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

namespace mxkv::server::test {
namespace {

class Shortage : public testing::Test, private WarningSink {
 protected:
  static constexpr std::uint64_t kUs = 1'000'000;  ///< microseconds of a second

  void begin_and_end(std::uint64_t refused, std::uint64_t us) {
    shortage_.begin(EMFILE);
    counters_.starved.fetch_add(refused, std::memory_order_relaxed);
    clock_.advance_us(us);
    shortage_.end();
  }

  runtime::ManualClock clock_;
  ConnectionCounters counters_;
  std::vector<std::string> lines_;
  DescriptorShortage shortage_{clock_, counters_, *this};

 private:
  void warn(const std::string& text) override { lines_.push_back(text); }
};

TEST_F(Shortage, BeginsAndEndsOnceHoweverOftenItIsMet) {
  shortage_.end();
  shortage_.begin(EMFILE);
  shortage_.begin(EMFILE);
  EXPECT_TRUE(shortage_.lasts());
  EXPECT_FALSE(counters_.accepting);
  shortage_.end();
  shortage_.end();
  EXPECT_FALSE(shortage_.lasts());
  EXPECT_TRUE(counters_.accepting);
  EXPECT_EQ(counters_.shortages, 1U);
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_NE(lines_[0].find("Too many open files"), std::string::npos) << lines_[0];
}

TEST_F(Shortage, TimeIsAddedUp) {
  begin_and_end(0, 3 * kUs);
  begin_and_end(0, 4 * kUs);
  EXPECT_EQ(counters_.shortages, 2U);
  EXPECT_EQ(counters_.shortage_us, 7 * kUs);
}

TEST_F(Shortage, OneThatComesAndGoesFillsNoLog) {
  for (int i = 0; i < 9; ++i) {
    begin_and_end(1, kUs);
  }
  EXPECT_EQ(lines_.size(), 2U);
  clock_.advance_us(10 * kUs);
  begin_and_end(5, kUs);
  ASSERT_EQ(lines_.size(), 4U);
  EXPECT_NE(lines_[1].find(" 1 were refused"), std::string::npos) << lines_[1];
  EXPECT_NE(lines_[3].find(" 13 were refused"), std::string::npos)
      << "those of the untold ones, too: " << lines_[3];
}

}  // namespace
}  // namespace mxkv::server::test
