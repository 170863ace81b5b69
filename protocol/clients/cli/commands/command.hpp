// The commands of mxkv-cli: one table for the command line, the shell, completion and help.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/session.hpp"

namespace CLI {
class App;
}

namespace mxkv::cli {

/// The execution of a command line. Returns Outcome::done or Outcome::no; throws in all other cases.
using Action = std::function<Outcome(Session&)>;

/// What completion offers for a command's words, besides its options.
enum class Completes {
  nothing,
  keys,        ///< keys and prefixes, for which it asks the server
  requests,    ///< the protocol's commands
  words,       ///< Command::offered
  first_word,  ///< Command::offered, as the first word only
  options,     ///< Command::offered, then the server's options
};

struct Command {
  std::string_view name;
  std::string_view summary;
  /// Adds the command's arguments to `app`. The returned action reads them when it is called, after parsing.
  Action (*declare)(CLI::App& app);
  Completes words = Completes::nothing;
  std::string_view offered{};  ///< the words that may come first, between blanks
};

/// Groups of `stats`, and streams of `watch`.
inline constexpr std::string_view kStatsGroups =
    "cluster conns durability hot index items latency locks memory runtime settings sizes slabs slow watch";
inline constexpr std::string_view kWatchStreams = "connevents deletions evictions fetchers mutations";

[[nodiscard]] std::span<const Command> all_commands();
/// In any case: get, GET. Null if there is no such command.
[[nodiscard]] const Command* find_command(std::string_view name);

// items
Action declare_get(CLI::App& app);
Action declare_info(CLI::App& app);
Action declare_set(CLI::App& app);
Action declare_delete(CLI::App& app);
Action declare_incr(CLI::App& app);
Action declare_decr(CLI::App& app);
Action declare_touch(CLI::App& app);
Action declare_batch(CLI::App& app);
// ranges
Action declare_scan(CLI::App& app);
Action declare_count(CLI::App& app);
Action declare_tree(CLI::App& app);
Action declare_delete_prefix(CLI::App& app);
Action declare_touch_prefix(CLI::App& app);
Action declare_big(CLI::App& app);
Action declare_changes(CLI::App& app);
// the server
Action declare_stats(CLI::App& app);
Action declare_top(CLI::App& app);
Action declare_latency(CLI::App& app);
Action declare_hot(CLI::App& app);
Action declare_slow(CLI::App& app);
Action declare_memory(CLI::App& app);
Action declare_prefixes(CLI::App& app);
Action declare_watch(CLI::App& app);
Action declare_config(CLI::App& app);
Action declare_clients(CLI::App& app);
Action declare_ping(CLI::App& app);
Action declare_raw(CLI::App& app);
// files
Action declare_export(CLI::App& app);
Action declare_import(CLI::App& app);

}  // namespace mxkv::cli
