// config, clients, raw: commands that go to the server unchanged, and whose reply lines are printed as they arrive.
#include <memory>
#include <vector>

#include <CLI/App.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/command_table.hpp"
#include "protocol/numbers.hpp"
#include "runtime/base/command_line.hpp"

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

/// Reads lines up to END, or one line if that is the whole reply.
Outcome show_lines(Session& session, const std::string& command, bool list) {
  Connection& server = session.connection();
  server.send(command + "\r\n");
  for (;;) {
    const std::string line(server.line());
    if (line == "ERROR") {
      throw Failure(Outcome::refused, "this server does not know: " + command);
    }
    if (is_refusal(line)) {
      throw_refusal(line);
    }
    if (list && line == "END") {
      return Outcome::done;
    }
    if (session.json()) {
      print_json(session, json_bytes(line));
    } else {
      session.print_line(line);
    }
    if (!list) {
      return line == "NOT_FOUND" ? Outcome::no : Outcome::done;
    }
  }
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
    return show_lines(session, joined(protocol::verb::config_get, asked), asked.front() == "get");
  };
}

Action declare_clients(CLI::App& app) {
  const auto words = std::make_shared<Words>();
  app.add_option("ARGUMENT", *words, "list, kill ID or ADDRESS, or name [NAME]")->required()->expected(1, 2);
  return [words](Session& session) {
    return show_lines(session, joined(protocol::verb::client, *words), words->front() == "list");
  };
}

Action declare_raw(CLI::App& app) {
  const auto lines = std::make_shared<Words>();
  app.add_option("LINE", *lines, "A line of the protocol, or the value of the line before")->required();
  app.footer(request_words());
  return [lines](Session& session) { return run_raw(session, *lines); };
}

}  // namespace mxkv::cli
