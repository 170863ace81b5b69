#include "protocol/clients/cli/commands/command.hpp"

#include <algorithm>
#include <array>

namespace mxkv::cli {
namespace {

constexpr std::array kCommands{
    Command{"get", "Values of keys", declare_get},
    Command{"info", "What is known of an item besides its value", declare_info},
    Command{"set", "Store an item", declare_set},
    Command{"delete", "Delete items", declare_delete},
    Command{"incr", "Count up", declare_incr},
    Command{"decr", "Count down, to 0", declare_decr},
    Command{"touch", "Set the time to live of items", declare_touch},
    Command{"scan", "Keys of a range, in order", declare_scan},
    Command{"count", "How many items a range has, and how many bytes", declare_count},
    Command{"tree", "What keys begin with, how many items and bytes", declare_tree},
    Command{"delete-prefix", "Delete all items with a prefix: counts and asks first", declare_delete_prefix},
    Command{"touch-prefix", "Set the time to live of all items with a prefix", declare_touch_prefix},
    Command{"batch", "Commands of a file: all of them at once, or none", declare_batch},
    Command{"big", "The largest items", declare_big},
    Command{"export", "Write items to a file", declare_export},
    Command{"import", "Store the items of a file", declare_import},
    Command{"stats", "What the server counts", declare_stats},
    Command{"top", "What the server does now", declare_top},
    Command{"latency", "How long requests take", declare_latency},
    Command{"hot", "Which keys are asked for most", declare_hot},
    Command{"slow", "Which requests took long", declare_slow},
    Command{"memory", "What takes the memory, and what to do about it", declare_memory},
    Command{"watch", "What happens to items and connections, as it happens", declare_watch},
    Command{"config", "Show and change the server's options", declare_config},
    Command{"clients", "List, name and end connections", declare_clients},
    Command{"ping", "Is the server there, and which one is it?", declare_ping},
    Command{"raw", "Send lines of the protocol as they are", declare_raw},
};

}  // namespace

std::span<const Command> all_commands() {
  return kCommands;
}

const Command* find_command(std::string_view name) {
  const auto* const found = std::ranges::find(kCommands, name, &Command::name);
  return found == kCommands.end() ? nullptr : found;
}

}  // namespace mxkv::cli
