// tree: the prefixes of keys up to a delimiter, with their items and bytes.
#include <memory>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/text/complain.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/clients/cli/wire/request_text.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

struct TreeArguments {
  std::string prefix;
  std::string delimiter = ":";
  unsigned depth = 1;
  std::uint64_t most = 1000;
  bool exact = false;
};

struct Branch {
  std::string prefix;  ///< empty: items without a delimiter
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  bool estimated = false;
};

struct Level {
  std::vector<Branch> branches;
  Branch rest;       ///< items without a delimiter
  bool cut = false;  ///< there are more prefixes than the limit
};

Branch branch_of(const MetaReply& reply, std::uint64_t items) {
  return {.prefix = reply.key(), .items = items, .bytes = reply.number('B'), .estimated = reply.has('~')};
}

Level read_level(Connection& server, const std::string& prefix, const TreeArguments& arguments) {
  Level level;
  std::string line =
      range_line(protocol::verb::meta_count, prefix.empty() ? Range{} : Range{.prefix = prefix});
  line += " D" + arguments.delimiter + (arguments.exact ? " e" : "");
  std::string cursor;
  do {
    server.send(line + (cursor.empty() ? "" : " G" + cursor) + "\r\n");
    for (;;) {
      const MetaReply reply = server.reply();
      expect_no_error(reply);
      if (reply.code == "HD") {
        if (level.branches.size() < arguments.most) {
          level.branches.push_back(branch_of(reply, reply.number('A')));
        } else {
          level.cut = true;
        }
        continue;
      }
      level.rest.items += reply.number('K');
      level.rest.bytes += reply.number('B');
      cursor = reply.flag('G').value_or("");
      break;
    }
  } while (!cursor.empty() && !level.cut);
  return level;
}

void tell_branch(Session& session, const Branch& branch, unsigned depth) {
  if (session.json()) {
    Json document = Json::object();
    document["prefix"] = branch.prefix.empty() ? Json(nullptr) : json_bytes(branch.prefix);
    document["depth"] = depth;
    document["items"] = branch.items;
    document["bytes"] = branch.bytes;
    document["estimated"] = branch.estimated;
    print_json(session, document);
    return;
  }
  const std::string indent(2 * std::size_t{depth}, ' ');
  const std::string name = branch.prefix.empty() ? "(no delimiter)" : quoted_word(branch.prefix);
  session.print_line(indent + name + "  " + (branch.estimated ? "~" : "") + std::to_string(branch.items) +
                     " items  " + (branch.estimated ? "~" : "") +
                     bytes_text(static_cast<double>(branch.bytes)));
}

/// NOLINTNEXTLINE(misc-no-recursion): as deep as the caller asked for.
void show_level(Session& session, const std::string& prefix, const TreeArguments& arguments, unsigned depth) {
  const Level level = read_level(session.connection(), prefix, arguments);
  for (const Branch& branch : level.branches) {
    tell_branch(session, branch, depth);
    if (depth + 1 < arguments.depth) {
      show_level(session, branch.prefix, arguments, depth + 1);
    }
  }
  if (level.rest.items != 0) {
    tell_branch(session, level.rest, depth);
  }
  if (level.cut) {
    session.flush();
    complain("mxkv-cli: there are more than " + std::to_string(arguments.most) + " prefixes below " +
             (prefix.empty() ? "the root" : quoted_word(prefix)) + " (--most)");
  }
}

}  // namespace

Action declare_tree(CLI::App& app) {
  const auto arguments = std::make_shared<TreeArguments>();
  app.add_option("PREFIX", arguments->prefix, "Only keys with this prefix; default: all keys");
  app.add_option("--delimiter", arguments->delimiter, "Delimiter that ends a prefix, 1 to 16 bytes")
      ->type_name("TEXT");
  app.add_option("--depth", arguments->depth, "Number of levels")->check(CLI::Range(1, 64))->type_name("N");
  app.add_option("--most", arguments->most, "Maximum number of prefixes per level")->type_name("N");
  app.add_flag("--exact", arguments->exact, "Count every item instead of estimating");
  return [arguments](Session& session) {
    show_level(session, session.argument(arguments->prefix), *arguments, 0);
    return Outcome::done;
  };
}

}  // namespace mxkv::cli
