// Header pages: a written page is read again; damaged, foreign and newer pages are distinguished.
#include "server/journal/segment_header.hpp"

#include <gmock/gmock.h>

#include <string>

namespace mxkv::server::test {
namespace {

using ::testing::HasSubstr;

SegmentHeader some_header() {
  SegmentHeader header;
  header.directory.fill(0xAB);
  header.number = 17;
  header.first_epoch = 5000;
  header.created_us = 123;
  header.chain_before = 456;
  header.incarnation = 3;
  header.stream = 1;
  header.after_gap = true;
  return header;
}

std::string page_of(const SegmentHeader& header) {
  std::string page(kPageBytes, '#');
  write_segment_header(page.data(), header);
  return page;
}

std::string error_of(std::string_view page) {
  const auto read = read_segment_header(page);
  return read ? "" : read.error().message;
}

TEST(SegmentHeader, ReadsItsOwnBytes) {
  SegmentHeader header = some_header();
  EXPECT_EQ(read_segment_header(page_of(header)).value(), header);
  header.after_gap = false;
  EXPECT_EQ(read_segment_header(page_of(header) + "more").value(), header);
}

TEST(SegmentHeader, NoFlippedBitGoesUnseen) {
  std::string page = page_of(some_header());
  for (std::size_t bit = 0; bit < page.size() * 8; ++bit) {
    page[bit / 8] = static_cast<char>(page[bit / 8] ^ (1 << bit % 8));
    ASSERT_NE(error_of(page), "") << bit;
    page[bit / 8] = static_cast<char>(page[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(SegmentHeader, SaysThatTheFileIsNoSegment) {
  EXPECT_THAT(error_of(""), HasSubstr("0 bytes are less than a header has"));
  EXPECT_THAT(error_of(std::string(kPageBytes, '\0')), HasSubstr("it is not a journal segment"));
  std::string page = page_of(some_header());
  page[40] = 1;
  EXPECT_THAT(error_of(page), HasSubstr("header of this journal segment is damaged"));
}

TEST(SegmentHeader, RefusesANewerFormatByName) {
  std::string page = page_of(some_header());
  store_number(page.data() + 8, std::uint16_t{7});
  seal_page(page.data());
  EXPECT_EQ(error_of(page), "") << "a newer writer may say that this reader understands it";
  store_number(page.data() + 10, std::uint16_t{5});
  seal_page(page.data());
  EXPECT_EQ(error_of(page),
            "this journal segment is of format 7, which needs a reader of format 5; this is one of format 2");
}

TEST(SegmentName, IsSixteenHexDigits) {
  EXPECT_EQ(segment_name(0x11), "0000000000000011.mxj");
  for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{0xABCDEF}, ~std::uint64_t{0}}) {
    EXPECT_EQ(segment_number(segment_name(number)), number);
  }
  for (const char* const name :
       {"", "11.mxj", "000000000000001g.mxj", "0000000000000011.mxc", "000000000000000A.mxj",
        "0000000000000011.mxj.old", "+000000000000011.mxj"}) {
    EXPECT_EQ(segment_number(name), 0U) << name;
  }
}

TEST(SegmentSeed, DependsOnDirectoryAndNumber) {
  DirectoryId other{};
  EXPECT_NE(segment_seed({}, 1), segment_seed({}, 2));
  other[15] = 1;
  EXPECT_NE(segment_seed({}, 1), segment_seed(other, 1));
}

}  // namespace
}  // namespace mxkv::server::test
