// scan, count: the items of a range.
#include <memory>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/commands/range_options.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/clients/cli/wire/pages.hpp"

namespace mxkv::cli {

Range RangeArguments::range(const Session& session) const {
  Range range;
  if (!prefix.empty()) {
    range.prefix = session.argument(prefix);
  }
  for (const auto& [given, bound] : {std::pair{&from, &range.from}, std::pair{&to, &range.to}}) {
    if (*given) {
      *bound = session.argument(**given);
      check_key(**bound);
    }
  }
  return range;
}

std::shared_ptr<RangeArguments> add_range(CLI::App& app) {
  auto arguments = std::make_shared<RangeArguments>();
  CLI::Option* const prefix =
      app.add_option("PREFIX", arguments->prefix, "Only keys with this prefix; default: all keys");
  app.add_option("--from", arguments->from, "The first key")->type_name("KEY")->excludes(prefix);
  app.add_option("--to", arguments->to, "The first key after the range")->type_name("KEY")->excludes(prefix);
  return arguments;
}

namespace {

struct ScanArguments {
  std::uint64_t limit = UINT64_MAX;
  bool reverse = false;
  bool values = false;
  bool keys_only = false;
};

Outcome run_scan(Session& session, Range range, const ScanArguments& arguments) {
  range.reverse = arguments.reverse;
  const Wanted wanted = {.value = arguments.values,
                         .flags = session.json(),
                         .seconds = session.json(),
                         .unique = session.json(),
                         .bytes = session.json()};
  Pages pages(session.connection(), range, wanted, {.limit = arguments.limit});
  while (const Record* const record = pages.next()) {
    if (!session.json()) {
      session.print(quoted_word(record->key));
      session.print_line(arguments.values ? " " + quoted_word(record->value) : "");
      continue;
    }
    Json document = Json::object();
    document["key"] = json_bytes(record->key);
    if (arguments.values) {
      document["value"] = json_bytes(record->value);
    }
    document["bytes"] = record->bytes;
    document["flags"] = record->flags;
    document["ttl"] = record->seconds;
    document["cas"] = record->unique;
    print_json(session, document);
  }
  return Outcome::done;
}

Outcome run_count(Session& session, const Range& range, bool exact) {
  Connection& server = session.connection();
  server.send(range_line(protocol::verb::meta_count, range) + (exact ? " e\r\n" : "\r\n"));
  const MetaReply reply = server.reply();
  expect_no_error(reply);
  const auto items = reply.number('A');
  const auto bytes = reply.number('B');
  const auto within = reply.flag('~');
  if (session.json()) {
    Json document = Json::object();
    document["items"] = items;
    document["bytes"] = bytes;
    document["within_percent"] = within ? json_word(*within) : Json(0);
    print_json(session, document);
    return Outcome::done;
  }
  session.print_line(
      std::to_string(items) + " items, " + bytes_text(static_cast<double>(bytes)) +
      (within ? ", an estimate within " + std::string(*within) + " % (--exact counts all items)" : ""));
  return Outcome::done;
}

}  // namespace

Action declare_scan(CLI::App& app) {
  const auto range = add_range(app);
  const auto arguments = std::make_shared<ScanArguments>();
  app.add_option("--limit", arguments->limit, "Maximum number of items")->type_name("N");
  app.add_flag("--reverse", arguments->reverse, "In descending order");
  CLI::Option* const values = app.add_flag("--values", arguments->values, "Print values, too");
  app.add_flag("--keys-only", arguments->keys_only, "Print keys only (the default)")->excludes(values);
  return
      [range, arguments](Session& session) { return run_scan(session, range->range(session), *arguments); };
}

Action declare_count(CLI::App& app) {
  const auto range = add_range(app);
  const auto exact = std::make_shared<bool>(false);
  app.add_flag("--exact", *exact, "Count every item instead of estimating large ranges");
  return [range, exact](Session& session) { return run_count(session, range->range(session), *exact); };
}

}  // namespace mxkv::cli
