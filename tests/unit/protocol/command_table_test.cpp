// The rows of the command table agree with the commands that the parser accepts. command_table.cpp compares the rows
// with each other.
#include "protocol/command_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

TEST(CommandTable, RowsHaveTheWordsThatAClientWrites) {
  EXPECT_EQ(name_of(verb::get), "get");
  EXPECT_EQ(name_of(verb::remove), "delete");
  EXPECT_EQ(name_of(verb::meta_range_touch), "mt");
  EXPECT_EQ(name_of(verb::meta_batch), "mb");
  EXPECT_EQ(name_of(verb::flush_all), "flush_all");
}

TEST(CommandTable, TheParserKnowsEachWordAndNoOtherThatLooksLikeIt) {
  const auto is_known = [](const std::string& word) {
    const ParsedLine bare(word + " some 1 2 3\r\n");
    const ParsedLine with_nothing(word + "\r\n");
    return bare->op != verb{} || with_nothing->op != verb{} || word == "get";
  };
  for (const Command& command : detail::kCommandTable) {
    const std::string word{command.word};
    if (command.reads == nullptr) {
      continue;
    }
    EXPECT_TRUE(is_known(word)) << word;
    for (const std::string& other :
         {word + "x", word + std::string(1, '\0'), "x" + word, word.substr(0, word.size() - 1) + "\x01"}) {
      EXPECT_FALSE(is_known(other)) << other;
    }
  }
}

TEST(CommandTable, ActionsOfBinaryCommandsHaveAMetaForm) {
  EXPECT_EQ(meta_form_of(point_action::read), verb::meta_get);
  EXPECT_EQ(meta_form_of(point_action::store), verb::meta_set);
  EXPECT_EQ(meta_form_of(point_action::count), verb::meta_arithmetic);
  EXPECT_EQ(meta_form_of(point_action::remove), verb::meta_delete);
}

TEST(CommandTable, OperandsAreTheNumbersBehindTheKey) {
  const auto operand_behind = [](verb op) { return operand_of(command_of(op).terms); };
  EXPECT_EQ(operand_behind(verb::incr), operand::delta);
  EXPECT_EQ(operand_behind(verb::decr), operand::delta);
  EXPECT_EQ(operand_behind(verb::touch), operand::exptime);
  EXPECT_EQ(operand_behind(verb::remove), operand::none);
}

TEST(CommandTable, SamplesNameTheKeyOfCommandsForOneKeyButNotOfMe) {
  for (const verb op : {verb::get, verb::gats, verb::cas, verb::decr, verb::touch, verb::remove,
                        verb::meta_get, verb::meta_arithmetic}) {
    EXPECT_TRUE(is_sampled_by_key(op)) << name_of(op);
  }
  for (const verb op : {verb::meta_debug, verb::meta_noop, verb::meta_batch, verb::scan,
                        verb::meta_range_touch, verb::stats, verb::quit}) {
    EXPECT_FALSE(is_sampled_by_key(op)) << name_of(op);
  }
}

}  // namespace
}  // namespace mxkv::protocol
