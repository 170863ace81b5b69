#include "protocol/clients/cli/shell/completion.hpp"

#include <algorithm>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/clients/cli/wire/pages.hpp"
#include "protocol/command_table.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

constexpr std::uint64_t kMostKeys = 100;

std::vector<std::string> command_names(const std::string& stem) {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    names.emplace_back(command.name);
  }
  names.insert(names.end(), {"exit", "help"});
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(stem); });
  return names;
}

std::vector<std::string> option_names(const Command& command, const std::string& stem) {
  CLI::App app;
  static_cast<void>(command.declare(app));
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (("--" + name).starts_with(stem)) {
        names.push_back("--" + name);
      }
    }
  }
  return names;
}

std::vector<std::string> protocol_words(const std::string& stem) {
  std::vector<std::string> words;
  for (const protocol::Command& command : protocol::all_commands()) {
    if (command.reads != nullptr && command.word.starts_with(stem)) {
      words.emplace_back(command.word);
    }
  }
  return words;
}

/// Up to `most` keys from one end of the prefix's range.
std::vector<std::string> some_keys(Session& session, const std::string& prefix, std::uint64_t most,
                                   bool from_end) {
  Range range = prefix.empty() ? Range{} : Range{.prefix = prefix};
  range.reverse = from_end;
  Pages pages(session.connection(), range, {}, {.limit = most, .page_items = most, .ahead = false});
  std::vector<std::string> keys;
  while (const Record* const record = pages.next()) {
    keys.push_back(record->key);
  }
  return keys;
}

// Keys are in order, so all of them begin with what the first and the last have in common.
void add_keys(Session& session, Completion& completion) {
  std::vector<std::string> keys = some_keys(session, completion.stem, kMostKeys + 1, false);
  completion.more = keys.size() > kMostKeys;
  std::string common = keys.empty() ? completion.stem : common_beginning({keys.front(), keys.back()});
  if (completion.more) {
    keys.resize(kMostKeys);
    const std::vector<std::string> last = some_keys(session, completion.stem, 1, true);
    common = last.empty() ? completion.stem : common_beginning({keys.front(), last.front()});
  }
  for (const std::string& key : keys) {
    // A quoted key does not begin with the typed word.
    if (const std::string word = quoted_word(key); word.starts_with(completion.stem)) {
      completion.whole.push_back(word);
    } else {
      completion.more = true;
    }
  }
  completion.common = quoted_word(common) == common ? common : completion.stem;
}

/// Lines `CONFIG <option> ..`, up to END.
void add_options_of_server(Session& session, Completion& completion) {
  Connection& server = session.connection();
  server.send(std::string(protocol::name_of(protocol::verb::config_get)) + " get\r\n");
  for (;;) {
    const std::vector<std::string> words = split_words(server.line());
    if (words.size() < 2 || words[0] != "CONFIG") {
      return;
    }
    if (words[1].starts_with(completion.stem)) {
      completion.whole.push_back(words[1]);
    }
  }
}

std::vector<std::string> offered_words(std::string_view offered, const std::string& stem) {
  std::vector<std::string> words = split_words(offered);
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(stem); });
  return words;
}

void add_words(Session& session, const Command& command, std::size_t place, Completion& completion) {
  if (completion.stem.starts_with('-')) {
    completion.whole = option_names(command, completion.stem);
  } else if (command.words == Completes::requests) {
    completion.whole = protocol_words(completion.stem);
  } else if (command.words == Completes::keys) {
    add_keys(session, completion);
  } else if (place == 1 || command.words == Completes::words) {
    completion.whole = offered_words(command.offered, completion.stem);
  } else if (command.words == Completes::options && place == 2) {
    add_options_of_server(session, completion);
  }
}

}  // namespace

Completion complete_line(Session& session, std::string_view before) {
  Completion completion;
  const std::size_t blank = before.find_last_of(" \t");
  completion.stem = before.substr(blank == std::string_view::npos ? 0 : blank + 1);
  std::vector<std::string> words;
  try {
    words = split_words(before.substr(0, before.size() - completion.stem.size()));
  } catch (const Failure&) {
    return completion;  // inside of a quote
  }
  if (words.empty() || words[0] == "help") {
    completion.whole = command_names(completion.stem);
    completion.common = common_beginning(completion.whole);
    return completion;
  }
  const Command* const command = find_command(words[0]);
  if (command == nullptr || completion.stem.find_first_of("\"'\\") != std::string::npos) {
    return completion;
  }
  try {
    add_words(session, *command, words.size(), completion);
  } catch (const Failure&) {
    session.hang_up();
    return {.stem = completion.stem};
  }
  if (command->words != Completes::keys || completion.stem.starts_with('-')) {
    completion.common = common_beginning(completion.whole);
  }
  return completion;
}

std::string common_beginning(const std::vector<std::string>& words) {
  if (words.empty()) {
    return {};
  }
  std::string common = words[0];
  for (const std::string& word : words) {
    const auto [mine, other] = std::ranges::mismatch(common, word);
    common.erase(mine, common.end());
  }
  return common;
}

}  // namespace mxkv::cli
