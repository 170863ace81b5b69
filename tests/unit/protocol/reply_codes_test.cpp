// Sentences, meta words and binary statuses come from one table, and another node's reply is read back by it.
#include "protocol/reply_codes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mxkv::protocol {
namespace {

TEST(ReplyCodes, ASentenceIsReadAsItsOwnCode) {
  for (const ReplyCodeRow& row : kReplyCodes) {
    if (!row.text.empty()) {
      EXPECT_EQ(read_reply_code(row.text), row.code) << row.text;
    }
  }
}

TEST(ReplyCodes, AMetaWordIsReadAsTheFirstCodeThatHasIt) {
  EXPECT_EQ(read_reply_code("HD\r\n"), reply_code::done);
  EXPECT_EQ(read_reply_code("HD c5 Oopaque\r\n"), reply_code::done);
  EXPECT_EQ(read_reply_code("VA 2 f9\r\n12\r\n"), reply_code::value);
  EXPECT_EQ(read_reply_code("EN\r\n"), reply_code::miss);
  EXPECT_EQ(read_reply_code("NF kkey\r\n"), reply_code::not_found);
  EXPECT_EQ(read_reply_code("NS\r\n"), reply_code::not_stored);
  EXPECT_EQ(read_reply_code("EX\r\n"), reply_code::exists);
}

TEST(ReplyCodes, AMetaWordHasTheSameStatusInAllItsRows) {
  for (const ReplyCodeRow& row : kReplyCodes) {
    if (!row.meta.empty()) {
      EXPECT_EQ(status_of(read_reply_code(row.meta)), row.status) << row.meta;
    }
  }
}

TEST(ReplyCodes, EveryLineWithoutARowIsRefused) {
  for (const std::string_view line :
       {"", "\r\n", "H", "HDX\r\n", "ERROR\r\n", "SERVER_ERROR shard 3 has no owner\r\n",
        "SERVER_ERROR journal: no space left on device\r\n", "CLIENT_ERROR bad command line format\r\n"}) {
    EXPECT_EQ(read_reply_code(line), reply_code::refused) << line;
  }
}

TEST(ReplyCodes, AnUnknownOutcomeIsReadWhateverItsCause) {
  EXPECT_EQ(read_reply_code("SERVER_ERROR outcome unknown: connection to the owner of shard 3 was lost\r\n"),
            reply_code::outcome_unknown);
  EXPECT_EQ(status_of(reply_code::outcome_unknown), binary_status::internal_error);
}

TEST(ReplyCodes, AValueThatWasNotStoredHasTheStatusOfItsOpcode) {
  for (const opcode add : {opcode::add, opcode::addq}) {
    EXPECT_EQ(status_of(reply_code::not_stored, add), binary_status::key_exists);
  }
  for (const opcode replace : {opcode::replace, opcode::replaceq}) {
    EXPECT_EQ(status_of(reply_code::not_stored, replace), binary_status::key_missing);
  }
  EXPECT_EQ(status_of(reply_code::not_stored, opcode::append), binary_status::not_stored);
  EXPECT_EQ(status_of(reply_code::exists, opcode::add), binary_status::key_exists);
}

TEST(ReplyCodes, AFailureHasAStatusOfItsOwn) {
  EXPECT_EQ(status_of(reply_code::non_numeric), binary_status::not_a_number);
  EXPECT_EQ(status_of(reply_code::too_large), binary_status::too_large);
  for (const reply_code code : {reply_code::no_memory, reply_code::no_request_memory,
                                reply_code::no_reply_memory, reply_code::no_forward_memory}) {
    EXPECT_EQ(status_of(code), binary_status::no_memory) << text_of(code);
  }
  for (const reply_code code :
       {reply_code::wrong_login, reply_code::busy_login, reply_code::crowded_user, reply_code::forbidden}) {
    EXPECT_EQ(status_of(code), binary_status::auth_error) << text_of(code);
  }
  EXPECT_EQ(status_of(reply_code::refused), binary_status::refused);
}

}  // namespace
}  // namespace mxkv::protocol
