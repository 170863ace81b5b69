// The rows of the command table agree with each other and with the commands that the parser accepts.
#include "protocol/command_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "protocol/point_request.hpp"
#include "protocol/reply.hpp"
#include "tests/unit/protocol/parsed_line.hpp"

namespace mxkv::protocol {
namespace {

TEST(CommandTable, AWordIsOfOneCommand) {
  std::map<std::string_view, int> times;
  for (const Command& command : detail::kCommandTable) {
    EXPECT_FALSE(command.word.empty());
    EXPECT_EQ(command.word.find(' '), std::string_view::npos) << command.word;
    ++times[command.word];
  }
  EXPECT_EQ(times.at("config"), 2) << "to ask and to set";
  for (const auto& [word, count] : times) {
    EXPECT_TRUE(count == 1 || word == "config") << word;
  }
}

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

TEST(CommandTable, CommandsForAKeyAreTimedAndOrderedByWhatTheyDo) {
  for (const Command& command : detail::kCommandTable) {
    const bool writes = command.terms.action == point_action::store ||
                        command.terms.action == point_action::count ||
                        command.terms.action == point_action::remove;
    EXPECT_EQ(command.is_point(), command.begins == beginning::keys || command.begins == beginning::point ||
                                      command.begins == beginning::value)
        << command.word;
    EXPECT_TRUE(!writes || command.terms.ordered) << command.word;
    EXPECT_TRUE(!writes || command.needs == least_role::writer) << command.word << " changes an item";
    EXPECT_EQ(command.begins == beginning::value, command.terms.action == point_action::store)
        << command.word;
    if (command.belongs == family::range || command.belongs == family::meta_range) {
      EXPECT_EQ(command.timed_as, command_kind::range) << command.word;
      EXPECT_EQ(command.needs == least_role::writer, command.begins == beginning::alone) << command.word;
    }
  }
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

TEST(CommandTable, AnOpcodeIsOfOneCommand) {
  std::set<opcode> seen;
  for (const Command& command : detail::kCommandTable) {
    if (command.binary.code != opcode::none) {
      EXPECT_EQ(plain_form_of(command.binary.code), command.binary.code) << command.word;
      EXPECT_TRUE(seen.insert(command.binary.code).second) << command.word;
    }
  }
}

}  // namespace
}  // namespace mxkv::protocol
