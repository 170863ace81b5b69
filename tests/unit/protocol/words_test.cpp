// Searches by words agree with the plain definition at every place and for every byte.
#include "protocol/words.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace mxkv::protocol {
namespace {

TEST(Words, AShortLoadHasTheBytesInOrderAndZerosAbove) {
  const std::string text = "abcdefg";
  for (std::size_t bytes = 0; bytes < 8; ++bytes) {
    EXPECT_EQ(load_short(text.data(), bytes), word_of(text.substr(0, bytes))) << bytes;
  }
}

TEST(Words, AWholeLoadAgreesWithTheConstant) {
  EXPECT_EQ(load_word("abcdefgh"), word_of("abcdefgh"));
}

TEST(Words, TheFirstMarkedByteIsTheFirstEqualOneWhateverSurroundsIt) {
  for (unsigned other = 0; other < 256; ++other) {
    for (std::size_t at = 0; at < 8; ++at) {
      std::string text(8, static_cast<char>(other));
      text[at] = '\n';
      const std::size_t expected = text.find('\n');
      EXPECT_EQ(first_marked(mark_equal(load_word(text.data()), '\n')), expected) << other << ' ' << at;
    }
  }
}

TEST(Words, NoByteIsMarkedWhereNoneIsEqual) {
  for (unsigned other = 0; other < 256; ++other) {
    if (other != '\n') {
      EXPECT_EQ(mark_equal(load_word(std::string(8, static_cast<char>(other)).data()), '\n'), 0U) << other;
    }
  }
}

TEST(Words, KeysEndExactlyAtSpacesControlBytesAndTheDeleteByte) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool ends = byte <= 0x20 || byte == 0x7f;
    for (std::size_t bytes = 1; bytes <= 20; ++bytes) {
      for (std::size_t at = 0; at < bytes; ++at) {
        // Neighbours of both kinds of byte that borrow: just above the border, and with the high bit.
        std::string text(bytes, at % 2 == 0 ? '!' : '\x80');
        text[at] = static_cast<char>(byte);
        const auto copy = std::make_unique<char[]>(bytes);
        text.copy(copy.get(), bytes);
        EXPECT_EQ(find_not_key(copy.get(), copy.get() + bytes) - copy.get(),
                  static_cast<std::ptrdiff_t>(ends ? at : bytes))
            << byte << " at " << at << " of " << bytes;
      }
    }
  }
}

TEST(Words, AKeyIsCopiedAndItsBytesUpToASpaceAreFoundAtEachPlace) {
  for (std::size_t bytes = 16; bytes <= 32; ++bytes) {
    for (std::size_t at = 0; at < bytes; ++at) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        std::string key(bytes, 'k');
        key[at] = static_cast<char>(byte);
        std::string copy(bytes + 1, '#');
        const bool may_be_key = copy_key_to_32(copy.data(), key.data(), bytes);
        ASSERT_EQ(copy, key + '#');
        ASSERT_TRUE(!may_be_key || is_key_byte(key[at])) << byte;  // it may refuse rarer keys
        ASSERT_TRUE(may_be_key || byte <= ' ' || byte == 0x7f) << bytes << ' ' << at << ' ' << byte;
      }
    }
  }
}

TEST(Words, ASearchOfNothingEndsAtItsEnd) {
  const char* const text = "a";
  EXPECT_EQ(find_not_key(text, text), text);
}

}  // namespace
}  // namespace mxkv::protocol
