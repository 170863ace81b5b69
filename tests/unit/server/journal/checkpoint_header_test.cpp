// A checkpoint part's header and footer: written ones are read again, and damaged ones are refused.
#include "server/journal/checkpoint_header.hpp"

#include <gmock/gmock.h>

#include <string>

namespace mxkv::server::test {
namespace {

CheckpointHeader some_part() {
  CheckpointHeader header;
  header.directory.fill(3);
  header.begun = 70;
  header.created_us = 71;
  header.part = 1;
  header.parts = 4;
  header.incarnation = 5;
  header.compressed = true;
  header.from = std::string(255, 'f');
  header.to = std::string(255, 't');
  return header;
}

std::string page_of_part(const CheckpointHeader& header) {
  std::string page(kPageBytes, '#');
  write_checkpoint_header(page.data(), header);
  return page;
}

TEST(CheckpointHeader, ReadsItsOwnBytes) {
  CheckpointHeader header = some_part();
  EXPECT_EQ(read_checkpoint_header(page_of_part(header)).value(), header);
  header.to.clear();
  header.has_no_end = true;
  header.compressed = false;
  EXPECT_EQ(read_checkpoint_header(page_of_part(header)).value(), header);
}

TEST(CheckpointHeader, NoFlippedBitGoesUnseen) {
  std::string page = page_of_part(some_part());
  for (std::size_t bit = 0; bit < page.size() * 8; ++bit) {
    page[bit / 8] = static_cast<char>(page[bit / 8] ^ (1 << bit % 8));
    ASSERT_FALSE(read_checkpoint_header(page).ok()) << bit;
    page[bit / 8] = static_cast<char>(page[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(CheckpointHeader, IsNoSegment) {
  std::string page(kPageBytes, '#');
  write_segment_header(page.data(), {});
  EXPECT_THAT(read_checkpoint_header(page).error().message, ::testing::HasSubstr("it is not a checkpoint"));
}

TEST(CheckpointFooter, ReadsItsOwnBytesAndNothingThatIsCut) {
  const CheckpointFooter footer{
      .items = 1, .bytes = 2, .chain = 3, .blocks = 4, .first = "first", .last = "z"};
  const std::string payload = footer_payload(footer);
  CheckpointFooter read;
  EXPECT_STREQ(read_footer(payload, read), nullptr);
  EXPECT_EQ(read, footer);
  for (std::size_t length = 0; length < payload.size(); ++length) {
    EXPECT_NE(read_footer(std::string_view{payload}.substr(0, length), read), nullptr) << length;
  }
}

TEST(CheckpointSeed, DependsOnAllThatNamesAPart) {
  EXPECT_NE(checkpoint_seed({}, 1, 0), checkpoint_seed({}, 2, 0));
  EXPECT_NE(checkpoint_seed({}, 1, 0), checkpoint_seed({}, 1, 1));
  EXPECT_NE(checkpoint_seed({}, 1, 0), segment_seed({}, 1));
}

}  // namespace
}  // namespace mxkv::server::test
