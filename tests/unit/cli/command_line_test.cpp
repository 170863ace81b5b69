// Words reach options as they were written, whatever CLI11 would make of them.
#include "runtime/base/command_line.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mxkv::runtime {
namespace {

using Words = std::vector<std::string>;

/// The keys of `mxkv-cli delete` in an app alike.
Words keys_of(const Words& words) {
  CLI::App app{"", "program"};
  CLI::App* const command = app.add_subcommand("delete", "");
  Words keys;
  command->add_option("KEY", keys, "")->required();
  Words all{"delete"};
  all.insert(all.end(), words.begin(), words.end());
  parse_words(app, all);
  return keys;
}

TEST(CommandLine, WordsOfAListStayWhole) {
  for (const Words& words : {Words{"[x,y]"}, Words{"[]", "a"}, Words{"[[a],[b]]"}, Words{"[", "]"},
                             Words{"{}"}, Words{"++"}, Words{"a", "++", "b"}, Words{"%%"}, Words{"[a]\x1f"},
                             Words{"a\x1f"}, Words{"a,b"}, Words{"delete"}}) {
    EXPECT_EQ(keys_of(words), words) << words.front();
  }
  EXPECT_EQ(keys_of({"--", "-x", "[y]", "--z="}), (Words{"-x", "[y]", "--z="}));
}

TEST(CommandLine, ValuesOfNamedOptionsStayWhole) {
  CLI::App app{"", "program"};
  Words sets;
  Words nodes;
  std::string text;
  app.add_option("--set", sets, "")->allow_extra_args(false);
  app.add_option("--nodes", nodes, "")->delimiter(',');
  app.add_option("-p,--text", text, "");
  parse_words(app, {"--set", "a=[1,2]", "--set=[x,y]", "--nodes", "[::1]:1,[::2]", "-p[q]"});
  EXPECT_EQ(sets, (Words{"a=[1,2]", "[x,y]"}));
  EXPECT_EQ(nodes, (Words{"[::1]:1", "[::2]"}));
  EXPECT_EQ(text, "[q]");
}

TEST(CommandLine, AnEmptyValueDoesNotTakeTheNextWord) {
  CLI::App app{"", "program"};
  std::string from = "unset";
  std::string to;
  app.add_option("--from", from, "");
  app.add_option("--to", to, "");
  parse_words(app, {"--from=", "--to", "z"});
  EXPECT_EQ(from, "");
  EXPECT_EQ(to, "z");
}

TEST(CommandLine, AnErrorTellsTheWordAsItWas) {
  CLI::App app{"", "program"};
  try {
    parse_words(app, {"[x]", "y"});
    FAIL() << "nothing takes these words";
  } catch (const CLI::ParseError& error) {
    const std::string text = usage_text(error);
    EXPECT_NE(text.find("[x]"), std::string::npos) << text;
    EXPECT_EQ(text.find('\x1f'), std::string::npos) << text;
  }
}

/// The error about `words` in an app with two commands and the option --server.
std::string error_of(const Words& words, const WordHints& hints = {}) {
  CLI::App app{"", "program"};
  std::string text;
  app.add_option("--server,-s", text, "");
  CLI::App* const get = app.add_subcommand("get", "");
  app.add_subcommand("delete", "");
  Words keys;
  get->add_option("KEY", keys, "")->required();
  bool full = false;
  get->add_flag("--full", full, "");
  try {
    parse_words(app, words, hints);
    return "";
  } catch (const CLI::ParseError& error) {
    return usage_text(error);
  }
}

TEST(CommandLine, UnknownWordsAreAnsweredWithTheNearest) {
  EXPECT_EQ(error_of({"gte", "user:1"}), "there is no command gte, did you mean get?");
  EXPECT_EQ(error_of({"flush"}), "there is no command flush; --help lists all");
  EXPECT_EQ(error_of({"--sever", "x", "get", "k"}), "there is no option --sever, did you mean --server?");
  EXPECT_EQ(error_of({"get", "k", "--ful"}), "there is no option --ful, did you mean --full?");
  EXPECT_EQ(error_of({"get", "--nothing-like-it"}), "there is no option --nothing-like-it; --help lists all")
      << "the unknown option, not the missing key";
  EXPECT_EQ(error_of({"delete", "k"}), "'k' was not expected");
  EXPECT_EQ(error_of({"get", "k", "--lissen=1"}, {.foreign = {}, .options = {"--listen"}}),
            "there is no option --lissen, did you mean --listen?");
}

TEST(CommandLine, WordsOfOtherProgramsAreAnsweredWithOurs) {
  constexpr std::array<ForeignWord, 3> kForeign{
      {{"-p", "here --server HOST:PORT"}, {"--port", "here --server HOST:PORT"}, {"del", "here delete KEY"}}};
  const WordHints hints{.foreign = kForeign, .options = {}};
  EXPECT_EQ(error_of({"-p", "11211", "get", "k"}, hints), "-p: here --server HOST:PORT");
  EXPECT_EQ(error_of({"-p11211", "-m", "64"}, hints),
            "-p: here --server HOST:PORT; there is no option -m; --help lists all");
  EXPECT_EQ(error_of({"--port=11211", "-p", "1"}, hints),
            "--port: here --server HOST:PORT; -p: here --server HOST:PORT");
  EXPECT_EQ(error_of({"del", "k"}, hints), "del: here delete KEY");
}

/// What parsing `--number=WORD` into a T tells; empty: it is a number, and `number` has it.
template <class T>
std::string refusal_of(const std::string& word, T& number) {
  CLI::App app{"", "program"};
  app.add_option("--number", number, "")->type_name("N");
  try {
    parse_words(app, {"--number=" + word});
    return "";
  } catch (const CLI::ParseError& error) {
    return usage_text(error);
  }
}

template <class T>
class UnsignedOption : public ::testing::Test {};
using UnsignedTypes =
    ::testing::Types<std::uint16_t, std::uint32_t, std::uint64_t, std::optional<std::uint64_t>>;
TYPED_TEST_SUITE(UnsignedOption, UnsignedTypes);

TYPED_TEST(UnsignedOption, RefusesNumbersBelowZeroAndTooLargeOnes) {
  TypeParam number{};
  for (const char* word : {"-1", "-0", "-18446744073709551615"}) {
    EXPECT_EQ(refusal_of(word, number),
              std::string{"--number: '"} + word + "' is not a valid number: it must be 0 or more");
  }
  EXPECT_EQ(refusal_of("18446744073709551616", number),
            "--number: '18446744073709551616' is not a valid number: it is too large");
  EXPECT_EQ(refusal_of("many", number), "--number: 'many' is not a valid number");
  EXPECT_EQ(refusal_of("65535", number), "");
  EXPECT_EQ(number, TypeParam{65535});
}

TEST(CommandLine, SignedNumbersMayBeBelowZero) {
  std::int64_t seconds = 0;
  EXPECT_EQ(refusal_of("-1", seconds), "");
  EXPECT_EQ(seconds, -1);
}

}  // namespace
}  // namespace mxkv::runtime
