// The words of a command line reach their options as they were written.
//
// CLI11 reads meaning into some words. Where an option takes a list, `[x,y]` becomes the two words x and y. Behind a
// subcommand `++` ends its arguments. `--name=` takes the next word for its value. parse_words() marks such words with
// a byte at their end, so that CLI11 does not recognise them, and takes the byte away where an option gets its value.
//
// CLI11 2.1 also reads -1 as the largest number of an unsigned type, and a number with too many digits as well. Here both
// are errors. That holds for each option, because each source with options includes this header.
//
// An unknown word is answered with the word that was probably meant, and one of another program's with ours.
//
// No program calls App::parse() itself, and none includes CLI11 without this; tests/checks/text_rules.py forbids it.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "runtime/base/nearest.hpp"

namespace mxkv::runtime::detail {

/// Digits in base 8, 10 or 16 as in C, without a sign. False: it is no such number, or T is too small for it.
template <class T>
bool read_unsigned(const std::string& text, T& number) noexcept {
  errno = 0;
  char* end = nullptr;
  const std::uint64_t read = std::strtoull(text.c_str(), &end, 0);
  number = static_cast<T>(read);
  return !text.empty() && text.find('-') == std::string::npos && errno == 0 &&
         end == text.c_str() + text.size() && number == read;
}

}  // namespace mxkv::runtime::detail

// The conversions of CLI11 for the unsigned types that options have.
namespace CLI::detail {

template <>
inline bool integral_conversion<std::uint64_t, dummy>(const std::string& text,
                                                      std::uint64_t& number) noexcept {
  return mxkv::runtime::detail::read_unsigned(text, number);
}
template <>
inline bool integral_conversion<std::uint32_t, dummy>(const std::string& text,
                                                      std::uint32_t& number) noexcept {
  return mxkv::runtime::detail::read_unsigned(text, number);
}
template <>
inline bool integral_conversion<std::uint16_t, dummy>(const std::string& text,
                                                      std::uint16_t& number) noexcept {
  return mxkv::runtime::detail::read_unsigned(text, number);
}

}  // namespace CLI::detail

namespace mxkv::runtime {

namespace detail {

/// A unit separator: nobody types it. A word that ends with one gets a second one, so that each word comes back.
inline constexpr char kWordMark = '\x1f';

inline std::string marked(const std::string& word) {
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

/// What to tell of a number that was refused: CLI11 says `Could not convert: NAME = VALUE`.
inline std::string number_error(const CLI::ConversionError& error) {
  constexpr std::string_view kHead = "Could not convert: ";
  std::string text = error.what();
  const std::size_t equals = text.find(" = ");
  if (!text.starts_with(kHead) || equals == std::string::npos) {
    return text;
  }
  const std::string value = text.substr(equals + 3);
  const bool below = value.starts_with('-');
  const bool digits = value.find_first_not_of("0123456789", below ? 1 : 0) == std::string::npos;
  return text.substr(kHead.size(), equals - kHead.size()) + ": '" + value + "' is not a valid number" +
         (!digits ? ""
          : below ? ": it must be 0 or more"
                  : ": it is too large");
}

/// A word of other programs, such as memcached's -p, and what this program has instead.
struct ForeignWord {
  std::string_view word;
  std::string_view answer;
};

/// What an error about an unknown word may name besides the app's own options and commands.
struct WordHints {
  std::span<const ForeignWord> foreign{};
  std::vector<std::string> options{};  ///< with their dashes
};

namespace detail {

inline void add_options(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  for (const CLI::App* const command : app.get_subcommands()) {
    add_options(*command, names);
  }
}

/// Behind a flag its value may stand without a space: -p11211, --port=11211.
inline std::string_view flag_of(std::string_view word) {
  const bool is_short = word.size() > 1 && word[0] == '-' && word[1] != '-';
  return is_short ? word.substr(0, 2) : word.substr(0, word.find('='));
}

inline std::string with_meant(const std::string& text, const std::string& meant) {
  return text + (meant.empty() ? "; --help lists all" : ", did you mean " + meant + "?");
}

/// The error about a word that nothing takes. `first`: no command was recognised before it.
inline std::string unknown_word(const CLI::App& app, const std::string& word, bool first,
                                const WordHints& hints) {
  const bool is_flag = word.starts_with('-');
  const std::string name{is_flag ? flag_of(word) : word};
  if (const auto foreign = std::ranges::find(hints.foreign, name, &ForeignWord::word);
      foreign != hints.foreign.end()) {
    return name + ": " + std::string{foreign->answer};
  }
  if (is_flag) {
    std::vector<std::string> names = hints.options;
    add_options(app, names);
    return with_meant("there is no option " + name, nearest(name, names));
  }
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App* /*each*/) { return true; })) {
    names.push_back(command->get_name());
  }
  return first && !names.empty() ? with_meant("there is no command " + word, nearest(word, names))
                                 : "'" + word + "' was not expected";
}

/// All words that nothing takes, in one line; empty: there are none. A word behind an unknown flag is its value.
inline std::string unknown_words(const CLI::App& app, const WordHints& hints) {
  std::string text;
  bool behind_flag = false;
  bool first = app.get_subcommands().empty();
  for (const std::string& marked : app.remaining(true)) {
    const std::string word = unmarked(marked);
    const bool is_flag = word.starts_with('-') && word.size() > 1;
    if (!is_flag && (behind_flag || !text.empty())) {
      behind_flag = false;
      continue;
    }
    text += (text.empty() ? "" : "; ") + unknown_word(app, word, first, hints);
    behind_flag = is_flag;
    first = false;
  }
  return text;
}

}  // namespace detail

/// Parses the words behind the program's name, once for an app. Throws CLI::Error like App::parse().
inline void parse_words(CLI::App& app, const std::vector<std::string>& words, const WordHints& hints = {}) {
  detail::unmark_values(app);
  std::vector<std::string> reversed(words.size());  // as CLI11 wants them
  std::ranges::transform(words, reversed.rbegin(), detail::marked);
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ConversionError& error) {
    throw CLI::ConversionError(number_error(error));
  } catch (const CLI::ParseError& error) {
    const bool is_usage = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                          error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
    const std::string unknown = is_usage ? detail::unknown_words(app, hints) : std::string{};
    if (unknown.empty()) {
      throw;
    }
    throw CLI::ParseError(unknown, CLI::ExitCodes::ExtrasError);
  }
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
inline std::optional<int> parse_or_exit(CLI::App& app, const std::vector<std::string>& words,
                                        const WordHints& hints = {}) {
  try {
    parse_words(app, words, hints);
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
