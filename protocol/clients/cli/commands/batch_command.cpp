// batch: the lines of a file as one atomic request.
//
//   get KEY / set KEY VALUE [TTL] / add .. / replace .. / append .. / prepend .. / delete KEY / incr KEY [N] / decr KEY [N]
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

#include <CLI/App.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/clients/cli/wire/request_text.hpp"
#include "protocol/numbers.hpp"
#include "runtime/base/command_line.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {
namespace {

using Words = std::vector<std::string>;

struct BatchLine {
  std::size_t number = 0;
  Words words;
};

/// The mode of ms, or of ma; NUL if the command is another one.
char mode_of(const std::string& verb) {
  return verb == "set"       ? 'S'
         : verb == "add"     ? 'E'
         : verb == "replace" ? 'R'
         : verb == "append"  ? 'A'
         : verb == "prepend" ? 'P'
         : verb == "incr"    ? 'I'
         : verb == "decr"    ? 'D'
                             : '\0';
}

void append_request(std::string& out, const Words& words) {
  const std::string& verb = words[0];
  const char mode = mode_of(verb);
  const bool counts = mode == 'I' || mode == 'D';
  const std::size_t least = mode != '\0' && !counts ? 3 : 2;
  const std::size_t most = mode == '\0' ? 2 : counts ? 3 : 4;
  std::uint64_t number = 1;
  const bool numbered = words.size() == most && most > 2;
  if ((mode == '\0' && verb != "get" && verb != "delete") || words.size() < least || words.size() > most ||
      (numbered && !protocol::read_u64(words[most - 1], number)) || (!counts && number > INT64_MAX)) {
    throw Failure(Outcome::usage,
                  "get KEY, set|add|replace|append|prepend KEY VALUE [TTL], delete KEY and "
                  "incr|decr KEY [N] are the commands of a batch");
  }
  if (mode == '\0') {
    append_command(out, verb == "get" ? protocol::verb::meta_get : protocol::verb::meta_delete, words[1]);
    out += verb == "get" ? " v\r\n" : "\r\n";
  } else if (counts) {
    append_command(out, protocol::verb::meta_arithmetic, words[1]);
    out += std::string(" v M") + mode + " D" + std::to_string(number) + "\r\n";
  } else {
    StoreOptions options = {.mode = mode};
    if (numbered) {
      options.seconds = static_cast<std::int64_t>(number);
    }
    append_store(out, words[1], words[2], options);
  }
}

std::vector<BatchLine> read_lines(std::istream& input, const std::string& name, std::string& requests) {
  std::vector<BatchLine> lines;
  std::string text;
  for (std::size_t number = 1; std::getline(input, text); ++number) {
    try {
      Words words = split_words(number == 1 ? runtime::without_byte_order_mark(text) : text);
      if (!words.empty()) {
        append_request(requests, words);
        lines.push_back({number, std::move(words)});
      }
    } catch (const Failure& failure) {
      throw Failure(Outcome::file, name + ":" + std::to_string(number) + ": " + failure.what());
    }
  }
  return lines;
}

void tell_line(Session& session, const BatchLine& line, const MetaReply& reply) {
  const std::string code(reply.code);
  if (session.json()) {
    Json document = Json::object();
    document["line"] = line.number;
    document["command"] = line.words[0];
    document["key"] = json_bytes(line.words[1]);
    document["code"] = code;
    document["value"] = reply.has_value ? json_bytes(reply.value) : Json(nullptr);
    print_json(session, document);
  } else {
    session.print_line(line.words[0] + " " + quoted_word(line.words[1]) + ": " +
                       (reply.has_value ? quoted_word(reply.value)
                        : code == "HD"  ? "done"
                                        : "(not found)"));
  }
}

Outcome run_batch(Session& session, const std::string& name) {
  std::ifstream file;
  if (name != "-") {
    file.open(name);
    if (!file) {
      throw Failure(Outcome::file, name + ": cannot be read");
    }
  }
  std::string requests;
  const std::vector<BatchLine> lines = read_lines(name == "-" ? std::cin : file, name, requests);
  if (lines.empty()) {
    throw Failure(Outcome::file, name + ": is empty");
  }
  Connection& server = session.connection();
  server.send(std::string(protocol::name_of(protocol::verb::meta_batch)) + ' ' +
              std::to_string(lines.size()) + "\r\n" + requests);
  for (const BatchLine& line : lines) {
    const MetaReply reply = server.reply();
    expect_no_error(reply);
    if (reply.code == "EX") {
      std::string_view rest = reply.rest;
      rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
      const std::size_t end = std::min(rest.find(' '), rest.size());
      std::uint64_t number = 0;
      const bool known =
          protocol::read_u64(rest.substr(0, end), number) && number >= 1 && number <= lines.size();
      throw Failure(Outcome::no, name + ":" +
                                     (known ? std::to_string(lines[number - 1].number) + ": " : " ") +
                                     "the batch changed nothing:" + std::string(rest.substr(end)));
    }
    tell_line(session, line, reply);
  }
  expect_no_error(server.reply());
  return Outcome::done;
}

}  // namespace

Action declare_batch(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("FILE", *name, "File with one command per line; - is standard input")->required();
  return [name](Session& session) { return run_batch(session, *name); };
}

}  // namespace mxkv::cli
