// set, delete, incr, decr, touch: changes of single items.
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/commands/ttl_option.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/clients/cli/wire/request_text.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

const std::map<std::string, char>& store_modes() {
  static const std::map<std::string, char> modes{
      {"set", 'S'}, {"add", 'E'}, {"replace", 'R'}, {"append", 'A'}, {"prepend", 'P'}};
  return modes;
}

struct SetArguments {
  std::string key;
  std::string value;
  std::string mode = "set";
  StoreOptions options{};
};

/// Prints the server's reply to a change of `key`, and returns whether the change was made.
Outcome tell_change(Session& session, const std::string& key, const MetaReply& reply, const char* done) {
  expect_no_error(reply);
  const bool well = reply.code == "HD" || reply.code == "VA";
  const std::string text = well                 ? done
                           : reply.code == "EX" ? "another unique"
                           : reply.code == "NS" ? "not stored"
                                                : "not found";
  if (session.json()) {
    Json document = Json::object();
    document["key"] = json_bytes(key);
    document["outcome"] = text;
    if (const auto unique = reply.flag('c'); unique && well) {
      document["cas"] = reply.number('c');
    }
    if (reply.has_value) {
      document["value"] = json_word(reply.value);
    }
    print_json(session, document);
  } else {
    session.print_line(reply.has_value ? std::string(reply.value) : well ? text : "(" + text + ")");
  }
  return well ? Outcome::done : Outcome::no;
}

MetaReply ask_reply(Session& session, const std::string& request) {
  Connection& server = session.connection();
  server.send(request);
  return server.reply();
}

Outcome run_set(Session& session, SetArguments arguments) {
  arguments.options.mode = store_modes().at(arguments.mode);
  std::string value = session.argument(arguments.value);
  if (arguments.value == "-") {
    value.assign(std::istreambuf_iterator<char>(std::cin), {});
  }
  const std::string key = session.argument(arguments.key);
  std::string request;
  append_store(request, key, value, arguments.options);
  return tell_change(session, key, ask_reply(session, request), "stored");
}

/// Sends the same flags for each key, and reads one reply for each.
Outcome run_for_each(Session& session, protocol::verb op, const std::vector<std::string>& keys,
                     const std::string& flags, const char* done) {
  Outcome outcome = Outcome::done;
  for (const std::string& written : keys) {
    const std::string key = session.argument(written);
    std::string request;
    append_command(request, op, key);
    if (tell_change(session, key, ask_reply(session, request + flags + "\r\n"), done) == Outcome::no) {
      outcome = Outcome::no;
    }
  }
  return outcome;
}

struct CountArguments {
  std::string key;
  std::uint64_t delta = 1;
  std::optional<std::uint64_t> initial{};
  std::optional<std::int64_t> seconds{};
};

Action declare_change(CLI::App& app, const char* mode) {
  const auto arguments = std::make_shared<CountArguments>();
  app.add_option("KEY", arguments->key, "Key")->required();
  app.add_option("DELTA", arguments->delta, "Amount; default: 1");
  app.add_option("--initial", arguments->initial, "Value of a key that does not exist yet")->type_name("N");
  add_ttl(app, arguments->seconds, "Time to live: seconds, or 90s, 10min, 1h, 7d");
  return [arguments, mode](Session& session) {
    std::string flags = std::string(" v M") + mode + " D" + std::to_string(arguments->delta);
    if (arguments->initial) {
      flags +=
          " N" + std::to_string(arguments->seconds.value_or(0)) + " J" + std::to_string(*arguments->initial);
    }
    if (arguments->seconds) {
      flags += " T" + std::to_string(*arguments->seconds);
    }
    return run_for_each(session, protocol::verb::meta_arithmetic, {arguments->key}, flags, "changed");
  };
}

}  // namespace

Action declare_set(CLI::App& app) {
  const auto arguments = std::make_shared<SetArguments>();
  app.add_option("KEY", arguments->key, "Key")->required();
  app.add_option("VALUE", arguments->value, "Value; - takes it from standard input")->required();
  add_ttl(app, arguments->options.seconds,
          "Time to live: seconds, or 90s, 10min, 1h, 7d; a unix time if above 30 days; 0: no expiry");
  app.add_option("--flags", arguments->options.flags, "The client's flags")->type_name("N");
  app.add_option("--cas", arguments->options.compare, "Store only if the item has this unique")
      ->type_name("UNIQUE");
  app.add_option("--mode", arguments->mode, "set, add, replace, append or prepend")
      ->check(CLI::IsMember(store_modes()))
      ->type_name("MODE");
  return [arguments](Session& session) { return run_set(session, *arguments); };
}

Action declare_delete(CLI::App& app) {
  const auto keys = std::make_shared<std::vector<std::string>>();
  const auto unique = std::make_shared<std::optional<std::uint64_t>>();
  app.add_option("KEY", *keys, "Keys")->required();
  app.add_option("--cas", *unique, "Delete only if the item has this unique")->type_name("UNIQUE");
  return [keys, unique](Session& session) {
    return run_for_each(session, protocol::verb::meta_delete, *keys,
                        *unique ? " C" + std::to_string(**unique) : "", "deleted");
  };
}

Action declare_incr(CLI::App& app) {
  return declare_change(app, "I");
}
Action declare_decr(CLI::App& app) {
  return declare_change(app, "D");
}

Action declare_touch(CLI::App& app) {
  const auto keys = std::make_shared<std::vector<std::string>>();
  const auto seconds = std::make_shared<std::int64_t>(0);
  app.add_option("KEY", *keys, "Keys")->required();
  add_ttl(app, *seconds, "Time to live: seconds, or 90s, 10min, 1h, 7d; 0: no expiry")->required();
  return [keys, seconds](Session& session) {
    return run_for_each(session, protocol::verb::meta_get, *keys, " T" + std::to_string(*seconds), "touched");
  };
}

}  // namespace mxkv::cli
