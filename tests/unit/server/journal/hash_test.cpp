// The hash is XXH3 as the format says, and the same for bytes that come in pieces.
#include "server/journal/hash.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::server::test {
namespace {

TEST(Hash, IsXxh3OfAllLengthsWhateverThePieces) {
  std::string bytes;
  for (std::size_t length = 0; length < 3000; length += 37) {
    Hasher hasher(77);
    const std::string_view all = bytes;
    hasher.add(all.substr(0, length / 3));
    hasher.add({});
    hasher.add(all.substr(length / 3));
    EXPECT_EQ(hasher.value(), hash_of(bytes, 77)) << length;
    for (int i = 0; i < 37; ++i) {
      bytes.push_back(static_cast<char>(bytes.size() * 7));
    }
  }
}

TEST(Hash, HasTheValuesOfFormatOne) {
  EXPECT_EQ(hash_of("", 0), 0x2D06'8005'38D3'94C2U);
  EXPECT_NE(hash_of("abc", 1), hash_of("abc", 2));
  EXPECT_NE(hash_of("abc", 1), hash_of("abd", 1));
}

TEST(Hash, AChainTellsTheOrderOfItsLinks) {
  EXPECT_NE(chain_on(chain_on(0, 1), 2), chain_on(chain_on(0, 2), 1));
  EXPECT_NE(chain_on(0, 1), chain_on(1, 1));
}

}  // namespace
}  // namespace mxkv::server::test
