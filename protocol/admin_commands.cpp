// The commands of administrators and tools: client, verbosity, cache_memlimit, shutdown, debugtime, config, lru_crawler,
// lru, slabs, stats.
//
// Commands that tune memcached's LRU lists and slab classes have no effect here. They are checked as
// memcached checks them and answered OK, so that scripts keep working. Commands that move memory between
// classes are refused.
#include <array>
#include <limits>

#include "protocol/commands.hpp"
#include "protocol/numbers.hpp"

namespace mxkv::protocol {
namespace {

constexpr std::string_view kNoSlabs = "CLIENT_ERROR slab reassignment disabled\r\n";
constexpr std::string_view kLongSleep = "CLIENT_ERROR sleep must be one second or less\r\n";
constexpr std::string_view kDumpsAll = "CLIENT_ERROR items are in no classes: use all\r\n";
constexpr std::string_view kShortDump = "CLIENT_ERROR bad command line\r\n";
constexpr std::string_view kConfigUsage =
    "CLIENT_ERROR usage: config get [pattern], config set <option> <value>\r\n";
constexpr std::string_view kNoClass = "CLIENT_ERROR Illegal slab id\r\n";
constexpr std::uint32_t kLongestSleepUs = 1'000'000;
constexpr std::uint64_t kAllLines = std::numeric_limits<std::uint64_t>::max();

/// Words of a command line behind the verb, noreply taken off.
struct Words {
  std::array<std::string_view, 6> word;
  std::size_t count = 0;
};

/// Returns false if there are too many words.
bool split(CommandLine line, Words& words) noexcept {
  while (!line.tokens.done()) {
    const std::string_view text = line.tokens.next().text;
    if (text == kNoreply && line.tokens.done()) {
      line.request.noreply = true;
    } else if (words.count == words.word.size()) {
      return false;
    } else {
      words.word[words.count++] = text;
    }
  }
  return true;
}

/// Refuses with an error, in silence if the line has noreply.
Parsed told(const CommandLine& line, std::string_view error) noexcept {
  return refused(line.request.noreply ? std::string_view{} : error);
}

/// Accepts a command without effect.
Parsed agreed(const CommandLine& line) noexcept {
  line.request.op = verb::tune;
  return accepted();
}

Parsed parse_dump(CommandLine line, verb op, std::string_view what) noexcept {
  if (what != "all" && what != "hash") {
    return told(line, kDumpsAll);
  }
  line.request.op = op;
  return accepted();
}

/// stats cachedump <class> <most>, 0 for all: the keys of one class. All keys are listed in class 1, which
/// `stats items` always has.
Parsed parse_cachedump(CommandLine line) noexcept {
  constexpr std::uint32_t kClasses = 64;  // more than memcached has; some tools ask for each class
  const std::string_view which = line.tokens.next().text;
  const std::string_view most = line.tokens.next().text;
  if (most.empty()) {
    return refused(kShortDump);
  }
  std::uint32_t item_class = 0;
  std::uint32_t lines = 0;
  if (!read_u32(which, item_class) || !read_u32(most, lines)) {
    return refused(kBadFormat);
  }
  if (item_class >= kClasses) {
    return refused(kNoClass);
  }
  line.request.op = verb::cachedump;
  line.request.dump_lines = item_class != 1 ? 0 : lines == 0 ? kAllLines : lines;
  return accepted();
}

bool is_number(std::string_view text) noexcept {
  std::uint32_t ignored = 0;
  return read_u32(text, ignored);
}

}  // namespace

Parsed parse_stats(CommandLine line) noexcept {
  if (Tokens ahead = line.tokens; ahead.next().text == "cachedump") {
    line.tokens = ahead;
    return parse_cachedump(line);
  }
  // Words behind the name of a group are ignored, except for detail.
  std::string_view& argument = line.request.argument;
  const std::string_view all = line.tokens.rest();
  argument = line.tokens.next().text;
  if (argument == "detail") {
    argument = all;
    while (argument.ends_with(' ')) {
      argument.remove_suffix(1);
    }
  }
  return accepted();
}

Parsed parse_verbosity(CommandLine line) noexcept {
  const Token level = line.tokens.next();
  std::uint32_t number = 0;
  line.request.argument = level.text;
  if (level.empty()) {
    return refused(kError);
  }
  if (!read_u32(level.text, number)) {
    return refused_aloud_or_not(line.tokens, {}, kBadFormat);
  }
  if (!take_last_word(line.tokens, line.request)) {
    return refused(kError);
  }
  line.request.verbosity = number;
  return accepted();
}

Parsed parse_cache_memlimit(CommandLine line) noexcept {
  const Token mebibytes = line.tokens.next();
  std::uint32_t number = 0;
  if (!read_u32(mebibytes.text, number) || !take_noreply(line.tokens, line.request)) {
    return refused_aloud_or_not(line.tokens, {}, kError);
  }
  line.request.mebibytes = number;
  return accepted();
}

Parsed parse_shutdown(CommandLine line) noexcept {
  line.request.argument = line.tokens.next().text;
  const bool known = line.request.argument.empty() || line.request.argument == "graceful";
  line.request.shutdown_known = known && line.tokens.done();
  return accepted();
}

Parsed parse_debugtime(CommandLine line) noexcept {
  line.request.argument = line.tokens.next().text;
  const bool word = line.request.argument == "p" || line.request.argument == "r";
  if ((!word && !read_i64(line.request.argument, line.request.exptime)) || !line.tokens.done()) {
    return refused(kError);
  }
  return accepted();
}

// The value is the rest of the line, because it may have spaces.
Parsed parse_config(CommandLine line) noexcept {
  const std::string_view what = line.tokens.next().text;
  line.request.argument = line.tokens.next().text;
  line.request.setting = line.tokens.rest();
  while (line.request.setting.ends_with(' ')) {
    line.request.setting.remove_suffix(1);
  }
  if (what == "get" && line.request.setting.empty()) {
    // Clients ask ElastiCache for its nodes with this line. We have none to list, so we answer as memcached
    // does.
    return line.request.argument == "cluster" ? refused(kError) : accepted();
  }
  line.request.op = verb::config_set;
  return what == "set" && !line.request.setting.empty() ? accepted() : refused(kConfigUsage);
}

// Ignores further words, as memcached does.
Parsed parse_refresh_certs(CommandLine /*line*/) noexcept {
  return accepted();
}

Parsed parse_lru_crawler(CommandLine line) noexcept {
  Words words;
  if (!split(line, words)) {
    return told(line, kError);
  }
  const auto& [what, argument, a, b, c, d] = words.word;
  if (words.count == 1 && (what == "enable" || what == "disable")) {
    return agreed(line);
  }
  if (words.count != 2) {
    return told(line, kError);
  }
  if (what == "metadump") {
    return parse_dump(line, verb::metadump, argument);
  }
  if (what == "mgdump") {
    return parse_dump(line, verb::mgdump, argument);
  }
  if (what == "crawl") {
    return agreed(line);
  }
  if (what == "tocrawl" || what == "sleep") {
    std::uint32_t number = 0;
    if (!read_u32(argument, number)) {
      return told(line, kBadFormat);
    }
    return what == "sleep" && number > kLongestSleepUs ? told(line, kLongSleep) : agreed(line);
  }
  return told(line, kError);
}

Parsed parse_lru(CommandLine line) noexcept {
  Words words;
  if (!split(line, words)) {
    return told(line, kError);
  }
  const auto& word = words.word;
  const bool known = (word[0] == "tune" && words.count >= 5 && is_number(word[1]) && is_number(word[2])) ||
                     (word[0] == "mode" && (word[1] == "flat" || word[1] == "segmented")) ||
                     (word[0] == "temp_ttl" && words.count == 2);
  return known ? agreed(line) : told(line, kError);
}

// client list, client name <name>, client kill <id or address>.
Parsed parse_client(CommandLine line) noexcept {
  Tokens ahead = line.tokens;
  const std::string_view what = ahead.next().text;
  const std::string_view which = ahead.next().text;
  const bool known = what == "list" ? which.empty() : what == "name" || (what == "kill" && !which.empty());
  if (!known || !ahead.done()) {
    return refused(kBadFormat);
  }
  line.request.argument = line.tokens.rest();
  return accepted();
}

Parsed parse_watch(CommandLine line) noexcept {
  constexpr std::array<std::string_view, 5> kKinds{"fetchers", "mutations", "evictions", "deletions",
                                                   "connevents"};
  std::uint32_t& wanted = line.request.watched;
  wanted = line.tokens.done() ? 1 : 0;
  while (!line.tokens.done()) {
    const std::string_view kind = line.tokens.next().text;
    std::size_t at = 0;
    while (at < kKinds.size() && kKinds[at] != kind) {
      ++at;
    }
    if (at == kKinds.size()) {
      return refused(kError);
    }
    wanted |= std::uint32_t{1} << at;
  }
  return accepted();
}

Parsed parse_slabs(CommandLine line) noexcept {
  Words words;
  if (!split(line, words)) {
    return told(line, kError);
  }
  if (words.word[0] == "reassign" && words.count == 3) {
    return told(line, kNoSlabs);
  }
  if (words.word[0] != "automove" || words.count < 2) {
    return told(line, kError);
  }
  constexpr std::uint32_t kMostEager = 2;
  std::uint32_t mode = 0;
  if (words.word[1] != "ratio" && !read_u32(words.word[1], mode)) {
    return told(line, kBadFormat);
  }
  return mode <= kMostEager ? agreed(line) : told(line, kError);
}

}  // namespace mxkv::protocol
