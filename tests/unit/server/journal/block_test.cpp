// Blocks: a sealed block is read again, and no changed bit, other place or other seed goes unseen.
#include "server/journal/block.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mxkv::server::test {
namespace {

constexpr std::uint64_t kSeed = 4711;
constexpr std::uint64_t kOffset = 64;

std::string file_with_block(BlockHeader& header, std::string_view payload) {
  std::string file(kOffset + kBlockHeaderBytes, '.');
  header.offset = kOffset;
  seal_block(file.data() + kOffset, header, payload, kSeed);
  return file.append(payload);
}

TEST(Block, ReadsASealedBlock) {
  BlockHeader header{.epoch = 5, .records = 3, .index = 2, .worker = 7, .kind = block_kind::value};
  const std::string file = file_with_block(header, "payload");
  EXPECT_EQ(header.payload_bytes, 7U);
  EXPECT_EQ(header.raw_bytes, 7U);
  BlockView block;
  EXPECT_STREQ(read_block(file, kOffset, kSeed, block), nullptr);
  EXPECT_EQ(block.header, header);
  EXPECT_EQ(block.payload, "payload");
}

TEST(Block, IsTheSameInWhateverPiecesThePayloadComes) {
  const std::string payload(1000, 'p');
  BlockHeader whole{.epoch = 1};
  BlockHeader pieces = whole;
  char first[kBlockHeaderBytes];
  char second[kBlockHeaderBytes];
  seal_block(first, whole, payload, kSeed);
  const std::vector<std::string_view> parts{
      std::string_view{payload}.substr(0, 1), {}, std::string_view{payload}.substr(1)};
  seal_block(second, pieces, parts, kSeed);
  EXPECT_EQ(std::string_view(first, sizeof first), std::string_view(second, sizeof second));
}

TEST(Block, NoFlippedBitGoesUnseen) {
  BlockHeader header{.epoch = 5, .records = 1};
  std::string file = file_with_block(header, "some payload");
  for (std::size_t bit = kOffset * 8; bit < file.size() * 8; ++bit) {
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8));
    BlockView block;
    EXPECT_NE(read_block(file, kOffset, kSeed, block), nullptr) << bit;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(Block, NamesTheFault) {
  BlockHeader header{.epoch = 5, .records = 1};
  const std::string file = file_with_block(header, "some payload");
  BlockView block;
  EXPECT_STREQ(read_block(file, kOffset, kSeed + 1, block), "a block does not match its hash")
      << "another segment's block";
  EXPECT_STREQ(read_block(file.substr(1), kOffset - 1, kSeed, block), "a block belongs to another place");
  EXPECT_STREQ(read_block(file, 0, kSeed, block), "no block begins there");
  EXPECT_STREQ(read_block(file, file.size(), kSeed, block), "the file ends where a block begins");
  EXPECT_STREQ(read_block(file, ~std::uint64_t{0}, kSeed, block), "the file ends where a block begins");
  for (std::size_t length = kOffset; length < file.size(); ++length) {
    EXPECT_NE(read_block(std::string_view{file}.substr(0, length), kOffset, kSeed, block), nullptr) << length;
  }
}

TEST(CommitBlock, ReadsASealedBlock) {
  std::string file(kCommitBlockBytes, '.');
  const CommitMark commit{
      .group_bytes = 8192, .blocks = 2, .durable = 4, .ceiling = 77, .unix_us = 88, .chain = 99};
  BlockHeader header{.epoch = 5};
  seal_commit(file.data(), header, commit, kSeed);
  BlockHeader read;
  CommitMark mark;
  EXPECT_STREQ(read_commit(file, 0, kSeed, read, mark), nullptr);
  EXPECT_EQ(read, header);
  EXPECT_EQ(mark, commit);
  EXPECT_EQ(read.kind, block_kind::commit);
}

TEST(CommitBlock, IsNoBlockOfAnotherKind) {
  std::string file(kBlockHeaderBytes, '.');
  BlockHeader header;
  const std::string payload(CommitMark::kBytes, 'x');
  seal_block(file.data(), header, payload, kSeed);
  file += payload;
  CommitMark mark;
  EXPECT_STREQ(read_commit(file, 0, kSeed, header, mark), "a group does not begin with a commit block");
}

}  // namespace
}  // namespace mxkv::server::test
