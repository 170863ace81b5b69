#include "protocol/clients/cli/commands/command.hpp"

#include <algorithm>
#include <array>

namespace mxkv::cli {
namespace {

constexpr Completes kKeys = Completes::keys;

constexpr std::array kCommands{
    Command{"get", "Print the values of keys", declare_get, kKeys},
    Command{"info", "Print an item's metadata", declare_info, kKeys},
    Command{"set", "Store an item", declare_set, kKeys},
    Command{"delete", "Delete items", declare_delete, kKeys},
    Command{"incr", "Add to a number", declare_incr, kKeys},
    Command{"decr", "Subtract from a number, down to 0", declare_decr, kKeys},
    Command{"touch", "Set the time to live of items", declare_touch, kKeys},
    Command{"scan", "Print the keys of a range, in order", declare_scan, kKeys},
    Command{"count", "Count the items and bytes of a range", declare_count, kKeys},
    Command{"tree", "Print prefixes with their items and bytes", declare_tree, kKeys},
    Command{"delete-prefix", "Delete all items with a prefix: counts and asks first", declare_delete_prefix,
            kKeys},
    Command{"touch-prefix", "Set the time to live of all items with a prefix", declare_touch_prefix, kKeys},
    Command{"batch", "Run the commands of a file atomically: all or none", declare_batch},
    Command{"big", "Find the largest items", declare_big, kKeys},
    Command{"changes", "Print the changes of a range as they happen", declare_changes, kKeys},
    Command{"export", "Write items to a file", declare_export, kKeys},
    Command{"import", "Store the items of a file", declare_import},
    Command{"stats", "Print the server's counters", declare_stats, Completes::first_word, kStatsGroups},
    Command{"top", "Show the server's activity, live", declare_top},
    Command{"latency", "Print latency percentiles by command", declare_latency},
    Command{"hot", "Print the most requested keys", declare_hot},
    Command{"slow", "Print the latest slow requests", declare_slow},
    Command{"memory", "Print the use of memory, with advice", declare_memory},
    Command{"prefixes", "Print memory and evictions by configured prefix", declare_prefixes},
    Command{"watch", "Print events of items and connections as they happen", declare_watch, Completes::words,
            kWatchStreams},
    Command{"config", "Show and change the server's options", declare_config, Completes::options, "get set"},
    Command{"clients", "List, name and end connections", declare_clients, Completes::first_word,
            "kill list name"},
    Command{"ping", "Check that the server answers; print its version", declare_ping},
    Command{"raw", "Send lines of the protocol unchanged", declare_raw, Completes::requests},
};

}  // namespace

std::span<const Command> all_commands() {
  return kCommands;
}

const Command* find_command(std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto* const found = std::ranges::find_if(kCommands, [&](const Command& command) {
    return std::ranges::equal(command.name, name, {}, {}, lower);
  });
  return found == kCommands.end() ? nullptr : found;
}

}  // namespace mxkv::cli
