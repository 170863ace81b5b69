// Keys are YCSB's, and their text and their number stand for each other.
#include "bench/workload/keys.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"

namespace mxkv::bench {
namespace {

std::string text_of(const KeyFormat& format, std::uint64_t hash) {
  std::array<char, KeyFormat::kMaxBytes> key;
  return {key.data(), format.write(hash, key.data())};
}

// Numbers around every change of length, and random ones.
std::vector<std::uint64_t> sample_hashes() {
  std::vector<std::uint64_t> hashes{0, (std::uint64_t{1} << 63) - 1};
  for (std::uint64_t power = 1; power <= 1'000'000'000'000'000'000; power *= 10) {
    hashes.insert(hashes.end(), {power - 1, power, power + 1});
    if (power == 1'000'000'000'000'000'000) {
      break;
    }
  }
  runtime::Random random(7);
  for (int i = 0; i < 5000; ++i) {
    hashes.push_back(random() >> (1 + random.below(60)));
  }
  return hashes;
}

TEST(FnvHash, GivesTheNumbersOfYcsb) {
  // The first keys that YCSB's client loads, as its own output shows them.
  EXPECT_EQ(fnv_hash64(0), 6284781860667377211U);
  EXPECT_EQ(fnv_hash64(1), 8517097267634966620U);
  EXPECT_EQ(fnv_hash64(2), 1820151046732198393U);
}

TEST(KeyFormat, WritesUserAndTheDecimalHash) {
  EXPECT_EQ(text_of(KeyFormat(1), fnv_hash64(0)), "user6284781860667377211");
  EXPECT_EQ(text_of(KeyFormat(0), 0), "user0");
}

TEST(KeyFormat, PadsWithZerosToTheWidth) {
  for (const std::size_t padding :
       {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{16}, std::size_t{17}, std::size_t{20},
        std::size_t{24}, std::size_t{40}, KeyFormat::kMaxPadding}) {
    for (const std::uint64_t hash : sample_hashes()) {
      const std::string digits = std::to_string(hash);
      const std::string zeros(digits.size() < padding ? padding - digits.size() : 0, '0');
      ASSERT_EQ(text_of(KeyFormat(padding), hash), std::string("user").append(zeros).append(digits))
          << padding;
    }
  }
}

TEST(KeyFormat, ParsesBackWhatItWrote) {
  for (const std::size_t padding : {std::size_t{1}, std::size_t{18}, std::size_t{20}, std::size_t{100}}) {
    const KeyFormat format(padding);
    for (const std::uint64_t hash : sample_hashes()) {
      ASSERT_EQ(format.parse(text_of(format, hash)), hash) << padding;
    }
  }
}

TEST(KeyFormat, RefusesWhatIsNoKeyOfItsWidth) {
  const KeyFormat plain(1);
  for (const char* key : {"", "user", "use1", "user01", "user1x", "user12345678/", "user9223372036854775808",
                          "user10000000000000000000", "User1", "user 1"}) {
    EXPECT_EQ(plain.parse(key), std::nullopt) << key;
  }
  const KeyFormat padded(20);
  EXPECT_EQ(padded.parse("user6284781860667377211"), std::nullopt);
  EXPECT_EQ(padded.parse("user19223372036854775807"), std::nullopt);
  EXPECT_EQ(padded.parse("user06284781860667377211"), 6284781860667377211U);
}

TEST(KeyFormat, BeforeIsTheOrderOfTheTexts) {
  const std::vector<std::uint64_t> hashes = sample_hashes();
  for (const std::size_t padding : {std::size_t{1}, std::size_t{7}, std::size_t{20}}) {
    const KeyFormat format(padding);
    for (std::size_t i = 1; i < hashes.size(); ++i) {
      const bool expected = text_of(format, hashes[i - 1]) < text_of(format, hashes[i]);
      ASSERT_EQ(format.before(hashes[i - 1], hashes[i]), expected)
          << padding << ": " << hashes[i - 1] << ", " << hashes[i];
    }
  }
}

}  // namespace
}  // namespace mxkv::bench
