// A census counts the resident bytes of address ranges: by texts in the form of the system's, and by the system itself.
#include "runtime/memory/page_census.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/base/clock.hpp"
#include "runtime/memory/page_range.hpp"

namespace mxkv::runtime {
namespace {

constexpr std::uint64_t kBytesPerKib = 1024;

PageCount addresses(std::uintptr_t begin, std::size_t bytes) {
  return {.begin = reinterpret_cast<const std::byte*>(begin), .bytes = bytes};
}

void add(std::string text, std::span<PageCount> counts) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{fmemopen(text.data(), text.size(), "r"),
                                                             &std::fclose};
  ASSERT_NE(file, nullptr);
  add_mappings(file.get(), counts);
}

TEST(PageCensus, MappingsCountForTheRangeThatTheyBeginIn) {
  std::array counts{addresses(0x10000, 0x10000), addresses(0x20000, 0x10000)};
  add("0f000-10000 rw-p 00000000 00:00 0 \nRss: 1 kB\nAnonHugePages: 1 kB\n"
      "10000-18000 rw-p 00000000 00:00 0 \nSize: 32 kB\nRss:                  10 kB\nPss: 9 "
      "kB\nAnonHugePages:   4 kB\n"
      "18000-20000 ---p 00000000 00:00 0 \nRss: 3 kB\nAnonHugePages: 2 kB\nVmFlags: rd mr\n"
      "20000-30000 rw-p 00000000 00:00 0 \nRss: 7 kB\nFilePmdMapped: 7 kB\nAnonHugePages: 0 kB\n"
      "30000-40000 rw-p 00000000 00:00 0 \nRss: 64 kB\nAnonHugePages: 64 kB\n",
      counts);
  EXPECT_EQ(counts[0].resident_bytes, 13 * kBytesPerKib);
  EXPECT_EQ(counts[0].huge_bytes, 6 * kBytesPerKib);
  EXPECT_EQ(counts[1].resident_bytes, 7 * kBytesPerKib);
  EXPECT_EQ(counts[1].huge_bytes, 0U);
}

TEST(PageCensus, LongPathsAndOtherTextCountAsNothing) {
  std::array counts{addresses(0x10000, 0x10000)};
  add("10000-18000 r--p 00000000 fe:00 1 /" + std::string(1000, 'p') +
          "\nRss: 4 kB\nRss: -\n\nface of a mapping\nRss",
      counts);
  EXPECT_EQ(counts[0].resident_bytes, 4 * kBytesPerKib);
}

/// Passes by a millisecond each time it is asked.
class TickingClock final : public Clock {
 public:
  [[nodiscard]] std::uint64_t monotonic_ns() const noexcept override { return now_ns += 1'000'000; }
  [[nodiscard]] std::uint64_t unix_us() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t steady_us(std::uint64_t) const noexcept override { return 0; }
  mutable std::uint64_t now_ns = 0;
};

TEST(PageCensus, TouchedPagesAreCountedOnceTheNextCensusIsDue) {
  constexpr std::size_t kTouched = 4 * kHugePageBytes;
  PageOptions options;
  options.huge_pages = huge_pages_mode::off;
  PageRange range(16 * kHugePageBytes, options);
  void* const arena = range.take(kTouched, NumaNodeId{0});
  ASSERT_NE(arena, nullptr);
  TickingClock clock;
  PageCensus census;
  const auto count = [&] {
    std::array counts{PageCount{.begin = range.base(), .bytes = range.reserved_bytes()}};
    census.take(clock, counts);
    return counts[0];
  };

  EXPECT_EQ(count().resident_bytes, 0U);
  std::memset(arena, 1, kTouched);
  EXPECT_EQ(count().resident_bytes, 0U)
      << "the census took a millisecond, so the next one waits for a hundred";
  clock.now_ns += 100'000'000;
  EXPECT_EQ(count().resident_bytes, kTouched);
  EXPECT_EQ(count().huge_bytes, 0U) << "they are small";
}

}  // namespace
}  // namespace mxkv::runtime
