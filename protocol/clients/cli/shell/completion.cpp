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

std::vector<std::string> keys_from_server(Session& session, const std::string& prefix) {
  std::vector<std::string> keys;
  try {
    Pages pages(session.connection(), prefix.empty() ? Range{} : Range{.prefix = prefix}, {},
                {.limit = kMostKeys, .page_items = kMostKeys, .ahead = false});
    while (const Record* const record = pages.next()) {
      keys.push_back(quoted_word(record->key));
    }
  } catch (const Failure&) {
    session.hang_up();
    keys.clear();
  }
  return keys;
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
    return completion;
  }
  const Command* const command = find_command(words[0]);
  if (command == nullptr || completion.stem.find_first_of("\"'\\") != std::string::npos) {
    return completion;
  }
  if (completion.stem.starts_with('-')) {
    completion.whole = option_names(*command, completion.stem);
  } else if (command->words == Completes::requests) {
    completion.whole = protocol_words(completion.stem);
  } else if (command->words == Completes::keys) {
    completion.whole = keys_from_server(session, completion.stem);
    // A quoted key does not begin with the typed word.
    std::erase_if(completion.whole,
                  [&](const std::string& key) { return !key.starts_with(completion.stem); });
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
