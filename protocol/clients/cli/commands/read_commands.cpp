// get, info: items by their keys.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include <CLI/App.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/clients/cli/wire/request_text.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

struct GetArguments {
  std::vector<std::string> keys;
  bool full = false;
};

/// All keys at once, in parts that the server accepts without waiting for this client to read.
constexpr std::size_t kKeysAtOnce = 256;

void print_item(Session& session, const GetArguments& arguments, const std::string& key,
                const MetaReply& reply) {
  if (session.json()) {
    Json document = Json::object();
    document["key"] = json_bytes(key);
    document["value"] = json_bytes(reply.value);
    document["flags"] = reply.number('f');
    document["ttl"] = json_word(reply.flag('t').value_or("-1"));
    document["cas"] = reply.number('c');
    print_json(session, document);
    return;
  }
  if (arguments.full) {
    session.print_line(quoted_word(key) + " flags=" + std::to_string(reply.number('f')) +
                       " ttl=" + std::string(reply.flag('t').value_or("-1")) + " cas=" +
                       std::to_string(reply.number('c')) + " bytes=" + std::to_string(reply.value.size()));
  } else if (arguments.keys.size() > 1) {
    session.print(quoted_word(key) + " ");
    session.print_line(quoted_word(reply.value));
    return;
  }
  session.print_bytes(reply.value);
  session.print("\n");
}

Outcome run_get(Session& session, const GetArguments& arguments) {
  Outcome outcome = Outcome::done;
  Connection& server = session.connection();
  for (std::size_t begin = 0; begin < arguments.keys.size(); begin += kKeysAtOnce) {
    const std::size_t end = std::min(begin + kKeysAtOnce, arguments.keys.size());
    std::string requests;
    for (std::size_t at = begin; at < end; ++at) {
      append_command(requests, protocol::verb::meta_get, session.argument(arguments.keys[at]));
      requests += " v f t c\r\n";
    }
    server.send(requests);
    for (std::size_t at = begin; at < end; ++at) {
      const std::string key = session.argument(arguments.keys[at]);
      const MetaReply reply = server.reply();
      expect_no_error(reply);
      if (reply.has_value) {
        print_item(session, arguments, key, reply);
        continue;
      }
      outcome = Outcome::no;
      if (session.json()) {
        Json document = Json::object();
        document["key"] = json_bytes(key);
        document["value"] = nullptr;
        print_json(session, document);
      } else {
        // No value is printed so beside other keys: one with a blank is quoted.
        session.print_line((arguments.keys.size() == 1 ? "" : quoted_word(key) + " ") + "(not found)");
      }
    }
  }
  return outcome;
}

/// A line of `info` for people; the protocol's own words are behind --json.
std::string info_line(const std::string& name, const std::string& value) {
  const double number = std::strtod(value.c_str(), nullptr);
  const auto line = [](std::string label, const std::string& text) {
    label.resize(std::max<std::size_t>(label.size(), 12), ' ');
    return "  " + label + " " + text;
  };
  if (name == "exp") {
    return line("expires", value == "-1" ? "never" : "in " + seconds_text(number));
  }
  if (name == "la") {
    return line("last access", seconds_text(number) + " ago");
  }
  if (name == "size") {
    return line("size", bytes_text(number));
  }
  return line(name == "fetch" ? "read before" : name == "cls" ? "size class" : name, value);
}

Outcome run_info(Session& session, const std::string& key) {
  Connection& server = session.connection();
  std::string request;
  append_command(request, protocol::verb::meta_debug, key);
  server.send(request + "\r\n");
  const MetaReply reply = server.reply();
  expect_no_error(reply);
  if (reply.code != "ME") {
    session.print_line(session.json() ? "null" : "(not found)");
    return Outcome::no;
  }
  Json document = Json::object();
  document["key"] = json_bytes(key);
  std::vector<std::string> words = split_words(reply.rest);
  for (const std::string& word : words) {
    if (const std::size_t equals = word.find('='); equals != std::string::npos && &word != &words.front()) {
      document[word.substr(0, equals)] = json_word(std::string_view(word).substr(equals + 1));
    }
  }
  if (session.json()) {
    print_json(session, document);
    return Outcome::done;
  }
  session.print_line(quoted_word(key));
  for (const auto& [name, value] : document.items()) {
    if (name != "key") {
      session.print_line(info_line(name, value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  return Outcome::done;
}

}  // namespace

Action declare_get(CLI::App& app) {
  const auto arguments = std::make_shared<GetArguments>();
  app.add_option("KEY", arguments->keys, "Keys")->required();
  app.add_flag("--full", arguments->full, "Print flags, time to live, unique and size, too");
  return [arguments](Session& session) { return run_get(session, *arguments); };
}

Action declare_info(CLI::App& app) {
  const auto key = std::make_shared<std::string>();
  app.add_option("KEY", *key, "Key")->required();
  return [key](Session& session) { return run_info(session, session.argument(*key)); };
}

}  // namespace mxkv::cli
