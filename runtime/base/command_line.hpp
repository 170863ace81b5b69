// The words of a command line reach their options as they were written.
//
// CLI11 reads meaning into some words. Where an option takes a list, `[x,y]` becomes the two words x and y. Behind a
// subcommand `++` ends its arguments. `--name=` takes the next word for its value. parse_words() marks such words with
// a byte at their end, so that CLI11 does not recognise them, and takes the byte away where an option gets its value.
// No program calls App::parse() itself; tests/checks/text_rules.py forbids it.
#pragma once

#include <algorithm>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace mxkv::runtime {

namespace detail {

/// A unit separator: nobody types it. A word that ends with one gets a second one, so that each word comes back.
inline constexpr char kWordMark = '\x1f';

inline std::string marked(std::string word) {
  const bool special = word == "++" || word.find('[') != std::string::npos || word.ends_with(kWordMark) ||
                       (word.starts_with("--") && word.ends_with('='));
  return special ? word + kWordMark : word;
}

inline std::string unmarked(std::string word) {
  if (word.ends_with(kWordMark)) {
    word.pop_back();
  }
  return word;
}

/// A value is the end of a word, so it has the mark if its word has. Validators run on each value.
inline void unmark_values(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    option->transform(unmarked);
  }
  for (CLI::App* const command : app.get_subcommands([](CLI::App* /*each*/) { return true; })) {
    unmark_values(*command);
  }
}

}  // namespace detail

/// Parses the words behind the program's name, once for an app. Throws CLI::Error like App::parse().
inline void parse_words(CLI::App& app, const std::vector<std::string>& words) {
  detail::unmark_values(app);
  std::vector<std::string> reversed(words.size());  // as CLI11 wants them
  std::ranges::transform(words, reversed.rbegin(), detail::marked);
  app.parse(std::move(reversed));
}
inline std::vector<std::string> words_behind_name(int count, const char* const* arguments) {
  return {arguments + std::min(count, 1), arguments + count};
}

/// The error of a command line, in one line.
inline std::string usage_text(const CLI::Error& error) {
  std::string text = error.what();
  std::erase(text, detail::kWordMark);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// Parses; where there is nothing to go on with, prints help or the error and returns the exit code, 0 or 2.
inline std::optional<int> parse_or_exit(CLI::App& app, const std::vector<std::string>& words) {
  try {
    parse_words(app, words);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    std::ostringstream wrong;
    const int code = app.exit(error, std::cout, wrong);
    std::string text = std::move(wrong).str();
    std::erase(text, detail::kWordMark);
    std::cerr << text;
    return code == 0 ? 0 : 2;
  }
}
inline std::optional<int> parse_or_exit(CLI::App& app, int count, const char* const* arguments) {
  if (app.get_name().empty() && count > 0) {
    app.name(arguments[0]);
  }
  return parse_or_exit(app, words_behind_name(count, arguments));
}

}  // namespace mxkv::runtime
