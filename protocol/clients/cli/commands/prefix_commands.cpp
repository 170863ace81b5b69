// delete-prefix, touch-prefix: changes of all items with a prefix. A delete first counts the items and asks.
#include <memory>

#include <CLI/App.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/commands/ttl_option.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/clients/cli/wire/request_text.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

struct DeleteArguments {
  std::string prefix;
  bool yes = false;
  bool dry_run = false;
  bool at_once = false;
};

/// The number of items, and their bytes.
std::pair<std::uint64_t, std::uint64_t> count_exactly(Connection& server, const Range& range) {
  server.send(range_line(protocol::verb::meta_count, range) + " e\r\n");
  const MetaReply reply = server.reply();
  expect_no_error(reply);
  return {reply.number('A'), reply.number('B')};
}

/// Page by page, so that no other client waits long; or locked, all at one moment.
std::uint64_t delete_range(Connection& server, const Range& range, bool at_once) {
  const std::string line = range_line(protocol::verb::meta_range_delete, range) + (at_once ? " X" : "");
  std::uint64_t removed = 0;
  std::string cursor;
  do {
    server.send(line + (cursor.empty() ? "" : " G" + cursor) + "\r\n");
    const MetaReply reply = server.reply();
    expect_no_error(reply);
    removed += reply.number('A');
    cursor = reply.flag('G').value_or("");
  } while (!cursor.empty());
  return removed;
}

void tell_number(Session& session, const char* name, std::uint64_t items, const std::string& text) {
  if (session.json()) {
    Json document = Json::object();
    document[name] = items;
    print_json(session, document);
  } else {
    session.print_line(text);
  }
}

Outcome run_delete(Session& session, const DeleteArguments& arguments) {
  const std::string prefix = session.argument(arguments.prefix);
  check_key(prefix);
  const Range range = {.prefix = prefix};
  const auto [items, bytes] = count_exactly(session.connection(), range);
  const std::string what = std::to_string(items) + " items that begin with " + quoted_word(prefix) + ", " +
                           bytes_text(static_cast<double>(bytes));
  if (arguments.dry_run) {
    tell_number(session, "would_delete", items, "would delete " + what);
    return Outcome::done;
  }
  if (items != 0 && !arguments.yes && !session.confirmed("Delete " + what + "?")) {
    throw Failure(Outcome::usage, "nothing was deleted: --yes deletes " + what + " without asking");
  }
  const std::uint64_t removed = delete_range(session.connection(), range, arguments.at_once);
  tell_number(session, "deleted", removed, "deleted " + std::to_string(removed) + " items");
  return Outcome::done;
}

Outcome run_touch(Session& session, const std::string& written, std::int64_t seconds) {
  const std::string prefix = session.argument(written);
  check_key(prefix);
  Connection& server = session.connection();
  server.send(range_line(protocol::verb::meta_range_touch, {.prefix = prefix}) + " T" +
              std::to_string(seconds) + "\r\n");
  const MetaReply reply = server.reply();
  expect_no_error(reply);
  const std::uint64_t items = reply.number('A');
  tell_number(session, "touched", items, "touched " + std::to_string(items) + " items");
  return Outcome::done;
}

}  // namespace

Action declare_delete_prefix(CLI::App& app) {
  const auto arguments = std::make_shared<DeleteArguments>();
  app.add_option("PREFIX", arguments->prefix, "Only keys with this prefix")->required();
  app.add_flag("--yes", arguments->yes, "Do not ask");
  app.add_flag("--dry-run", arguments->dry_run, "Only count the items");
  app.add_flag("--at-once", arguments->at_once,
               "Delete atomically, all or nothing; other writes to the range wait");
  return [arguments](Session& session) { return run_delete(session, *arguments); };
}

Action declare_touch_prefix(CLI::App& app) {
  const auto prefix = std::make_shared<std::string>();
  const auto seconds = std::make_shared<std::int64_t>(0);
  app.add_option("PREFIX", *prefix, "Only keys with this prefix")->required();
  add_ttl(app, *seconds, "Time to live: seconds, or 90s, 10min, 1h, 7d; 0: no expiry")->required();
  return [prefix, seconds](Session& session) { return run_touch(session, *prefix, *seconds); };
}

}  // namespace mxkv::cli
