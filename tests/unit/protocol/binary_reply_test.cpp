// Answers of the binary protocol, byte by byte.
#include "protocol/binary_reply.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/protocol/binary_packet.hpp"

namespace mxkv::protocol {
namespace {

constexpr BinaryForm kForm{.code = opcode::getk, .opaque = {'o', 'p', 'a', 'q'}};

TEST(BinaryReply, AHeaderHasItsNumbersWithTheFirstByteHighest) {
  std::array<char, kBinaryHeaderBytes> out;
  const char* const end = write_binary_header(out.data(), kForm,
                                              {.status = binary_status::unknown_command,
                                               .extras = 4,
                                               .key = 0x0102,
                                               .body = 0x0304'0506,
                                               .cas = 0x1122'3344'5566'7788});
  EXPECT_EQ(end, out.data() + out.size());
  EXPECT_EQ(std::string_view(out.data(), out.size()),
            std::string_view(
                "\x81\x0c\x01\x02\x04\x00\x00\x81\x03\x04\x05\x06opaq\x11\x22\x33\x44\x55\x66\x77\x88", 24));
}

TEST(BinaryReply, EachErrorHasItsWordsAndFits) {
  for (const binary_status status :
       {binary_status::key_missing, binary_status::key_exists, binary_status::too_large,
        binary_status::invalid, binary_status::not_stored, binary_status::not_a_number,
        binary_status::auth_error, binary_status::unknown_command, binary_status::no_memory,
        binary_status::refused}) {
    std::array<char, kMostBinaryErrorBytes> out;
    const char* const end = write_binary_error(out.data(), kForm, status);
    ASSERT_LE(end, out.data() + out.size());
    std::string_view stream{out.data(), static_cast<std::size_t>(end - out.data())};
    EXPECT_EQ(told(stream), "12 " + std::to_string(static_cast<unsigned>(status)) +
                                " opaq: " + std::string{text_of(status)});
    EXPECT_FALSE(text_of(status).empty());
  }
}

}  // namespace
}  // namespace mxkv::protocol
