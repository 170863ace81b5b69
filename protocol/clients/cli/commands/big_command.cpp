// big: the items with the largest values. It reads every item's header, page by page, at --rate items per second at most.
#include <algorithm>
#include <memory>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "protocol/clients/cli/commands/command.hpp"
#include "protocol/clients/cli/commands/json_text.hpp"
#include "protocol/clients/cli/text/amounts.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/clients/cli/transfer/pacer.hpp"
#include "protocol/clients/cli/wire/pages.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::cli {
namespace {

struct BigArguments {
  std::string prefix;
  std::size_t most = 10;
  double rate = 100'000;
};

struct BigItem {
  std::uint64_t bytes;
  std::string key;
};

bool is_larger(const BigItem& one, const BigItem& other) {
  return one.bytes > other.bytes;
}

Outcome run_big(Session& session, const BigArguments& arguments) {
  const Range range =
      arguments.prefix.empty() ? Range{} : Range{.prefix = session.argument(arguments.prefix)};
  Pages pages(session.connection(), range, {.bytes = true}, {.ahead = false});
  Pacer pacer(arguments.rate);
  std::vector<BigItem> heap;  // a heap of the largest items, the smallest of them on top
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  while (const Record* const record = pages.next()) {
    ++items;
    bytes += record->bytes;
    if (heap.size() < arguments.most || record->bytes > heap.front().bytes) {
      if (heap.size() == arguments.most) {
        std::ranges::pop_heap(heap, is_larger);
        heap.pop_back();
      }
      heap.push_back({record->bytes, record->key});
      std::ranges::push_heap(heap, is_larger);
    }
    if (pages.page_done()) {
      pacer.wait_until_due(items);
    }
  }
  std::ranges::sort_heap(heap, is_larger);
  std::vector<std::vector<std::string>> rows{{"key", "bytes"}};
  for (const BigItem& item : heap) {
    if (session.json()) {
      Json document = Json::object();
      document["key"] = json_bytes(item.key);
      document["bytes"] = item.bytes;
      print_json(session, document);
    } else {
      rows.push_back({quoted_word(item.key), std::to_string(item.bytes)});
    }
  }
  if (!session.json()) {
    session.print(table_text(rows));
    session.print_line("of " + std::to_string(items) + " items with " +
                       bytes_text(static_cast<double>(bytes)) + " of values");
  }
  return Outcome::done;
}

}  // namespace

Action declare_big(CLI::App& app) {
  const auto arguments = std::make_shared<BigArguments>();
  app.add_option("PREFIX", arguments->prefix, "Only keys with this prefix; default: all keys");
  app.add_option("--top", arguments->most, "Number of items")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  app.add_option("--rate", arguments->rate, "Maximum number of items read per second; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  return [arguments](Session& session) { return run_big(session, *arguments); };
}

}  // namespace mxkv::cli
