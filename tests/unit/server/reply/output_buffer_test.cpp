// Output leaves in the order written, owners are released once, and blocks are counted.
#include "server/reply/output_buffer.hpp"

#include <cstring>

#include "tests/unit/server/reply/fixture.hpp"

namespace mxkv::server::test {
namespace {

TEST(OutputBuffer, SendsBytesInTheOrderWrittenWhateverTheParts) {
  for (const std::size_t part : {std::size_t{1}, std::size_t{7}, std::size_t{16320}, std::size_t{1} << 20U}) {
    Memory memory;
    OutputBuffer output{memory.pool};
    Owned owned{std::string(40'000, 'o')};
    std::string expected;
    for (int i = 0; i < 200; ++i) {
      const std::string text(static_cast<std::size_t>(i * 3), static_cast<char>('a' + i % 26));
      expected += text;
      char* const to = output.reserve(text.size() + 10);
      std::memcpy(to, text.data(), text.size());
      output.commit(to + text.size());
      if (i == 100) {
        output.append_owned(owned.bytes.data(), owned.bytes.size(), owned.ref());
        expected += owned.bytes;
      }
    }
    output.append(std::string(50'000, 'z'));
    expected += std::string(50'000, 'z');
    EXPECT_EQ(output.unsent_bytes(), expected.size());
    EXPECT_EQ(drain(output, part), expected);
    EXPECT_EQ(output.unsent_bytes(), 0U);
    EXPECT_EQ(owned.released, 1);
  }
}

TEST(OutputBuffer, LetsGoOfAnOwnerWhenCleared) {
  Memory memory;
  Owned owned{"value"};
  {
    OutputBuffer output{memory.pool};
    output.append_owned(owned.bytes.data(), owned.bytes.size(), owned.ref());
    EXPECT_EQ(owned.released, 0);
  }
  EXPECT_EQ(owned.released, 1);
}

TEST(OutputBuffer, RepliesOfManyLargeValuesShareABlock) {
  Memory memory;
  Owned owned{std::string(100, 'o')};
  OutputBuffer output{memory.pool};
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    output.append("header ");
    output.append_owned(owned.bytes.data(), owned.bytes.size(), owned.ref());
    output.append(" trailer");
    expected += "header " + owned.bytes + " trailer";
  }
  const std::size_t headers = 200 * BlockPool::kOwnedBytes;  // of the values, and of bytes behind them
  EXPECT_EQ(memory.budget.category_bytes(runtime::memory_category::output), BlockPool::kBlockBytes + headers);
  EXPECT_EQ(memory.pool.share().held(), BlockPool::kBlockBytes + headers);
  EXPECT_EQ(drain(output, 11), expected);
  EXPECT_EQ(owned.released, 100);
  output.append("after");
  EXPECT_EQ(drain(output), "after");
  EXPECT_EQ(memory.pool.share().held(), 0U);
  EXPECT_EQ(memory.pool.free_blocks(), 1U);
}

TEST(OutputBuffer, GivesRoomInOnePieceLargerThanABlock) {
  Memory memory;
  OutputBuffer output{memory.pool};
  output.append("a");
  char* const to = output.reserve(100'000);
  std::memset(to, 'b', 100'000);
  output.commit(to + 100'000);
  EXPECT_EQ(drain(output), "a" + std::string(100'000, 'b'));
}

TEST(BlockPool, CountsItsBlocksInTheBudgetAndReturnsThem) {
  runtime::MemoryBudget budget{runtime::MemoryBudget::kUnlimited, 1};
  {
    BlockPool pool{budget, budget.account(runtime::WorkerId{0})};
    OutputBuffer output{pool};
    output.append(std::string(3 * BlockPool::kBlockRoom, 'x'));
    EXPECT_EQ(budget.category_bytes(runtime::memory_category::output), 3 * BlockPool::kBlockBytes);
    EXPECT_EQ(drain(output).size(), 3 * BlockPool::kBlockRoom);
    EXPECT_EQ(pool.free_blocks(), 3U);
  }
  EXPECT_EQ(budget.category_bytes(runtime::memory_category::output), 0U);
}

TEST(BlockPool, GivesBlocksWhenTheBudgetIsExhausted) {
  runtime::MemoryBudget budget{1, 1};
  {
    BlockPool pool{budget, budget.account(runtime::WorkerId{0})};
    OutputBuffer output{pool};
    output.append("SERVER_ERROR");
    EXPECT_EQ(drain(output), "SERVER_ERROR");
    EXPECT_GT(budget.category_bytes(runtime::memory_category::output), 0U);
  }
  EXPECT_EQ(budget.category_bytes(runtime::memory_category::output), 0U);
}

/// A value in pieces, like a large item's.
struct Pieces {
  std::vector<std::string> all;
  int released = 0;
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const std::string& piece : all) {
      sum += piece.size();
    }
    return sum;
  }
  [[nodiscard]] OwnerRef ref() {
    return {this, nullptr, [](void*, void* object) noexcept { ++static_cast<Pieces*>(object)->released; },
            [](const void* object, std::uint32_t index) noexcept -> std::string_view {
              return static_cast<const Pieces*>(object)->all[index];
            }};
  }
};

TEST(OutputBuffer, AValueInPiecesIsOneSegmentAndLeavesInPartsOfAnySize) {
  for (const std::size_t most : {1U, 3U, 7U, 1000U}) {
    Memory memory;
    Pieces value{{"abcd", "e", "fghijk", "lm"}};
    OutputBuffer output{memory.pool};
    output.append("<");
    output.append_pieces(value.bytes(), value.ref());
    output.append(">");
    EXPECT_EQ(output.unsent_bytes(), 15U);
    EXPECT_EQ(output.referenced_bytes(), 13U);
    EXPECT_EQ(memory.pool.share().held(), BlockPool::kBlockBytes + 2 * BlockPool::kOwnedBytes)
        << "its memory does not depend on the number of pieces";
    EXPECT_EQ(drain(output, most), "<abcdefghijklm>");
    EXPECT_EQ(value.released, 1);
    EXPECT_EQ(output.referenced_bytes(), 0U);
    EXPECT_EQ(output.sent_bytes(), 15U);
    EXPECT_EQ(memory.pool.share().held(), 0U);
  }
}

TEST(OutputBuffer, SettlesDownInASmallBlockAndGoesOnThere) {
  for (const std::size_t sent : {std::size_t{0}, std::size_t{3}, std::size_t{20}}) {
    Memory memory;
    Owned one{std::string(100, 'o')};
    Owned other{std::string(50, 'p')};
    OutputBuffer output{memory.pool};
    std::string expected = "header " + one.bytes + " and " + other.bytes + " end";
    output.append("header ");
    output.append_owned(one.bytes.data(), one.bytes.size(), one.ref());
    output.append(" and ");
    output.append_owned(other.bytes.data(), other.bytes.size(), other.ref());
    output.append(" end");
    output.consume(sent);
    output.compact();
    EXPECT_LT(memory.pool.share().held(), BlockPool::kSmallBlockBytes + 5 * BlockPool::kOwnedBytes);
    output.append(" of it");
    EXPECT_EQ(drain(output, 9), (expected + " of it").substr(sent));
    EXPECT_EQ(one.released + other.released, 2);
    EXPECT_EQ(memory.pool.share().held(), 0U);
  }
}

TEST(BlockPool, HeadersOfValuesAreChargedAndGivenBack) {
  Memory memory;
  const std::size_t count = BlockPool::kFreeSegments + 100;
  Owned owned{"v"};
  {
    OutputBuffer output{memory.pool};
    for (std::size_t i = 0; i < count; ++i) {
      output.append_owned(owned.bytes.data(), 1, owned.ref());
    }
    EXPECT_EQ(memory.budget.category_bytes(runtime::memory_category::output), count * BlockPool::kOwnedBytes);
  }
  EXPECT_EQ(memory.budget.category_bytes(runtime::memory_category::output),
            BlockPool::kFreeSegments * BlockPool::kOwnedBytes);
  EXPECT_EQ(memory.pool.share().held(), 0U);
}

}  // namespace
}  // namespace mxkv::server::test
