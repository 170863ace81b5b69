// Words reach options as they were written, whatever CLI11 would make of them.
#include "runtime/base/command_line.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace mxkv::runtime
