// config, clients, raw: commands that go to the server as they are written.
#include <algorithm>
#include <memory>
#include <vector>

#include <CLI/App.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/command_table.hpp"
#include "protocol/numbers.hpp"
#include "runtime/base/command_line.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {
namespace {

using Words = std::vector<std::string>;

std::string joined(protocol::verb op, const Words& words) {
  std::string line(protocol::name_of(op));
  for (const std::string& word : words) {
    line += ' ' + word;
  }
  return line;
}

bool is_refusal(std::string_view line) {
  return line == "ERROR" || line.starts_with("CLIENT_ERROR") || line.starts_with("SERVER_ERROR");
}

/// A reply without data. Refusals throw.
std::string reply_line(Connection& server, const std::string& command) {
  const std::string line(server.line());
  if (line == "ERROR") {
    throw Failure(Outcome::refused, "this server does not know: " + command);
  }
  if (is_refusal(line)) {
    throw_refusal(line);
  }
  return line;
}

/// A change, whose reply is one line.
Outcome change(Session& session, const std::string& command) {
  Connection& server = session.connection();  // once: with a reply on its way it would be another one
  server.send(command + "\r\n");
  const std::string line = reply_line(server, command);
  if (session.json()) {
    Json document = Json::object();
    document["reply"] = json_bytes(line);
    print_json(session, document);
  } else {
    session.print_line(line);
  }
  return line == "NOT_FOUND" ? Outcome::no : Outcome::done;
}

/// The lines of a list, up to END, without their first word.
std::vector<std::string> list_lines(Session& session, const std::string& command, std::string_view head) {
  Connection& server = session.connection();
  server.send(command + "\r\n");
  std::vector<std::string> lines;
  for (;;) {
    const std::string line = reply_line(server, command);
    if (line == "END") {
      return lines;
    }
    lines.push_back(line.starts_with(head) ? line.substr(head.size()) : line);
  }
}

/// An option as `config get` tells it: `<option> now|start <value> # <origin>`.
struct OptionLine {
  std::string option;
  bool at_once = false;  ///< it can change while the server runs
  std::string value;
  std::string origin;
};

OptionLine option_of(const std::string& line) {
  const std::size_t name_end = std::min(line.find(' '), line.size());
  const std::size_t when_end = std::min(line.find(' ', std::min(name_end + 1, line.size())), line.size());
  const std::size_t origin = std::min(line.rfind(" # "), line.size());
  const std::size_t value = std::min(when_end + 1, line.size());
  return {.option = line.substr(0, name_end),
          .at_once = line.substr(std::min(name_end + 1, line.size()), when_end - name_end - 1) == "now",
          .value = line.substr(value, origin < value ? 0 : origin - value),
          .origin = line.substr(std::min(origin + 3, line.size()))};
}

/// A list of the configuration is a list of JSON as well, where its words are quoted.
Json value_of_option(const std::string& text) {
  const Json list = Json::parse(text, nullptr, false);
  return list.is_array() ? list : json_word(text);
}

Outcome show_options(Session& session, const Words& words) {
  for (const std::string& line : list_lines(session, joined(protocol::verb::config_get, words), "CONFIG ")) {
    const OptionLine one = option_of(line);
    if (!session.json()) {
      session.print_line(one.option + ": " + one.value + "  # " + one.origin +
                         (one.at_once ? ", changes at once" : ""));
      continue;
    }
    Json document = Json::object();
    document["option"] = one.option;
    document["value"] = value_of_option(one.value);
    document["origin"] = one.origin;
    document["changes_at_once"] = one.at_once;
    print_json(session, document);
  }
  return Outcome::done;
}

/// Lines `CLIENT id=4 addr=.. ..`: objects, or a table with a column for each name that has a value in any line.
Outcome show_clients(Session& session, const Words& words) {
  std::vector<Json> clients;
  for (const std::string& line : list_lines(session, joined(protocol::verb::client, words), "CLIENT ")) {
    clients.push_back(object_of_words(line));
    if (session.json()) {
      print_json(session, clients.back());
    }
  }
  if (session.json() || clients.empty()) {
    return Outcome::done;
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : clients.front().items()) {
    const auto has = [&name](const Json& client) {
      const auto at = client.find(name);
      return at != client.end() && !(at->is_string() && at->get_ref<const std::string&>().empty());
    };
    if (std::ranges::any_of(clients, has)) {
      names.push_back(name);
    }
  }
  std::vector<std::vector<std::string>> rows{names};
  for (const Json& client : clients) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const std::string& name : names) {
      const Json value = client.value(name, Json(""));
      row.push_back(runtime::readable(value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  session.print(table_text(rows));
  return Outcome::done;
}

/// Whether a data block follows the line, and its length.
bool has_block(std::string_view line, std::uint64_t& bytes) {
  std::vector<std::string_view> words;
  while (!line.empty() && words.size() < 4) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  const bool meta = words.size() > 1 && words[0] == "VA";
  const bool classic = words.size() > 3 && words[0] == "VALUE";
  return (meta || classic) && protocol::read_u64(words[meta ? 1 : 3], bytes);
}

/// The server replies to `mn` after all earlier requests: its reply marks the end of theirs.
Outcome run_raw(Session& session, const Words& lines) {
  Connection& server = session.connection();
  std::string request;
  for (const std::string& line : lines) {
    request += session.argument(line) + "\r\n";
  }
  server.send(request + std::string(protocol::name_of(protocol::verb::meta_noop)) + "\r\n");
  bool refused = false;
  for (;;) {
    const std::string line(server.line());
    if (line == "MN") {
      return refused ? Outcome::refused : Outcome::done;
    }
    refused = refused || is_refusal(line);
    const auto show = [&](std::string_view text) {
      if (session.json()) {
        print_json(session, json_bytes(text));
      } else {
        session.print_bytes(text);
        session.print("\n");
      }
    };
    show(line);
    if (std::uint64_t bytes = 0; has_block(line, bytes)) {
      const std::string_view block = server.data(bytes + 2);
      show(block.substr(0, bytes));
    }
  }
}

/// The words that begin the protocol's lines, by family.
std::string request_words() {
  constexpr std::size_t kWidth = 78;
  std::string text = "Commands of the protocol; PROTOCOL.md describes them:";
  std::size_t begin = 0;
  auto family = protocol::family::control;
  for (const protocol::Command& command : protocol::all_commands()) {
    if (command.reads == nullptr) {
      continue;
    }
    if (command.belongs != family || text.size() - begin + command.word.size() >= kWidth) {
      family = command.belongs;
      text += "\n ";
      begin = text.size();
    }
    text += ' ';
    text += command.word;
  }
  return text;
}

}  // namespace

Action declare_config(CLI::App& app) {
  const auto words = std::make_shared<Words>();
  app.add_option("ARGUMENT", *words, "get [PATTERN], or set OPTION VALUE")->required()->expected(1, 3);
  return [words](Session& session) {
    Words asked = *words;
    if (asked == Words{"get", "cluster"}) {
      asked.back() = "cluster.*";  // to a server the word alone is another pattern
    }
    return asked.front() == "get" ? show_options(session, asked)
                                  : change(session, joined(protocol::verb::config_get, asked));
  };
}

Action declare_clients(CLI::App& app) {
  const auto words = std::make_shared<Words>();
  app.add_option("ARGUMENT", *words, "list, kill ID or ADDRESS, or name [NAME]")->required()->expected(1, 2);
  return [words](Session& session) {
    return words->front() == "list" ? show_clients(session, *words)
                                    : change(session, joined(protocol::verb::client, *words));
  };
}

Action declare_raw(CLI::App& app) {
  const auto lines = std::make_shared<Words>();
  app.add_option("LINE", *lines, "A line of the protocol, or the value of the line before")->required();
  app.footer(request_words());
  return [lines](Session& session) { return run_raw(session, *lines); };
}

}  // namespace mxkv::cli
