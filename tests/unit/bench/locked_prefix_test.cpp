// The prefix that a locked touch holds by default: about a hundred keys, whatever the keys look like.
#include "bench/workload/locked_prefix.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "bench/client/scan_check.hpp"

namespace mxkv::bench {
namespace {

/// The mean number of keys that begin as `draws` records do, which are spread over all.
double keys_of_a_prefix(const WorkloadSpec& spec) {
  const KeyFormat format(spec.zero_padding);
  const LoadedKeys loaded(spec, format);
  const std::size_t prefix = usual_prefix_bytes(spec);
  constexpr std::uint64_t kDraws = 1000;
  double sum = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    std::array<char, KeyFormat::kMaxBytes> key;
    const std::uint64_t record = spec.insert_start + i * spec.existing() / kDraws;
    const std::string_view text(key.data(), format.write(spec.key_number(record), key.data()));
    sum += static_cast<double>(loaded.count_prefix(text.substr(0, prefix)));
  }
  return sum / static_cast<double>(kDraws);
}

WorkloadSpec records(std::uint64_t count, std::size_t zero_padding, bool ordered) {
  WorkloadSpec spec;
  spec.record_count = count;
  spec.zero_padding = zero_padding;
  spec.ordered = ordered;
  return spec;
}

TEST(LockedPrefix, HasAboutAHundredHashedKeys) {
  for (const std::uint64_t count : {1'000ULL, 10'000ULL, 100'000ULL, 1'000'000ULL}) {
    for (const std::size_t padding : {1U, 20U, 40U}) {
      EXPECT_NEAR(keys_of_a_prefix(records(count, padding, false)), 100, 25) << count << ", " << padding;
    }
  }
  // Between powers of ten as near as a digit allows.
  const double rather_more = keys_of_a_prefix(records(300'000, 20, false));
  const double rather_less = keys_of_a_prefix(records(400'000, 20, false));
  EXPECT_NEAR(rather_more, 300, 50);
  EXPECT_NEAR(rather_less, 40, 10);
}

TEST(LockedPrefix, HasAHundredOrderedKeys) {
  EXPECT_EQ(keys_of_a_prefix(records(1'000, 20, true)), 100);
  EXPECT_EQ(keys_of_a_prefix(records(123'400, 20, true)), 100);
  WorkloadSpec upper_half = records(2'000, 8, true);
  upper_half.insert_start = 1'000;
  EXPECT_EQ(keys_of_a_prefix(upper_half), 100);
}

TEST(LockedPrefix, OfFewKeysIsAllOfThem) {
  EXPECT_EQ(usual_prefix_bytes(records(100, 1, false)), 4U);
  EXPECT_EQ(usual_prefix_bytes(records(1, 1, true)), 4U);
  EXPECT_EQ(keys_of_a_prefix(records(50, 20, false)), 50);
  EXPECT_EQ(keys_of_a_prefix(records(50, 20, true)), 50);
}

}  // namespace
}  // namespace mxkv::bench
