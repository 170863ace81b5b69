// The commands, a row each. A row has the command's word and grammar, its terms for one key, the least role
// of its users, how a session begins it, the name that it is timed under, and its binary form. The parser,
// the rights of users, the session's dispatch, counters, forwarding and the documents' tables use these rows.
// So a new command is an enumerator, a row, and the function that decides what it does. command_table.cpp does
// not compile if rows contradict each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/binary_form.hpp"
#include "protocol/grammars.hpp"

namespace mxkv::protocol {

enum class verb : std::uint8_t {
  get,
  gets,
  gat,
  gats,
  set,  ///< also `put`
  add,
  replace,
  append,
  prepend,
  cas,
  incr,
  decr,
  touch,
  remove,           ///< `delete`
  meta_get,         ///< mg
  meta_set,         ///< ms
  meta_delete,      ///< md
  meta_arithmetic,  ///< ma
  meta_debug,       ///< me
  meta_noop,        ///< mn
  meta_batch,       ///< mb
  scan,
  scans,
  pscan,
  pscans,
  meta_range,         ///< mr
  meta_count,         ///< mc
  meta_range_delete,  ///< mx
  meta_range_touch,   ///< mt; `exptime`: T
  meta_watch,    ///< mw; name: `meta.opaque()`; `setting`: the position, empty for none; `watched`: kinds
  meta_unwatch,  ///< mu; name as of mw; `argument`: the opaque of a mark, empty to end the watch
  stats,
  version,
  verbosity,
  cache_memlimit,
  shutdown,
  debugtime,
  config_get,  ///< `argument`: a pattern, empty for all options
  config_set,  ///< `argument`: the option; `setting`: its value
  refresh_certs,
  metadump,   ///< lru_crawler metadump
  mgdump,     ///< lru_crawler mgdump
  cachedump,  ///< stats cachedump
  watch,
  client,  ///< `argument`: list, name or kill, and its argument
  tune,    ///< lru, slabs, lru_crawler: their forms without effect here
  flush_all,
  quit,
};
inline constexpr std::size_t kCommands = static_cast<std::size_t>(verb::quit) + 1;

/// A command's family decides which fields of a Request it fills.
enum class family : std::uint8_t {
  retrieval,  ///< get gets gat gats: of one key or several
  storage,    ///< set and its like: a data block follows
  change,     ///< incr decr touch delete: one key, and its operand
  meta,       ///< mg ms md ma me
  noop,       ///< mn
  batch,      ///< mb
  range,      ///< scan and its like
  meta_range,
  watching,  ///< mw mu
  control,   ///< of the server, or of the connection
};

/// What a command does with the key's item: each action is one decision of the store.
enum class point_action : std::uint8_t {
  read,     ///< get gets gat gats touch, mg
  store,    ///< set add replace append prepend cas, ms
  remove,   ///< delete, md
  count,    ///< incr decr, ma
  inspect,  ///< me
};

/// What an action may do to the value of the key's item. A new time to live is no effect on the value.
enum class value_effect : std::uint8_t { none, stores, removes };
[[nodiscard]] constexpr value_effect effect_of(point_action action) noexcept {
  switch (action) {
    case point_action::read:
    case point_action::inspect:
      break;
    case point_action::store:
    case point_action::count:
      return value_effect::stores;
    case point_action::remove:
      return value_effect::removes;
  }
  return value_effect::none;
}

/// When, and how, a command stores the value that was sent.
enum class store_mode : std::uint8_t { set, add, replace, append, prepend };

/// Terms of a request for one key, from its word or its flags.
struct PointTerms {
  point_action action = point_action::read;
  store_mode mode = store_mode::set;
  bool down = false;      ///< count: subtract
  bool compares = false;  ///< only if the item has the cas `compare`
  bool touches = false;   ///< the item gets a new time to live, `exptime`
  bool ordered = false;   ///< has a place in the order of its connection's writes: the table sets it
};

/// The number behind the key in the line of a command of the family change.
enum class operand : std::uint8_t { none, delta, exptime };
[[nodiscard]] constexpr operand operand_of(const PointTerms& terms) noexcept {
  return terms.touches                         ? operand::exptime
         : terms.action == point_action::count ? operand::delta
                                               : operand::none;
}

/// The least role that may use a command. The rest of its line may require a higher one.
enum class least_role : std::uint8_t { anybody, reader, writer, administrator };

/// How a session begins a command.
enum class beginning : std::uint8_t {
  keys,     ///< one read for each key
  value,    ///< when its data block has come
  point,    ///< at once
  noop,     ///< behind all requests under way
  page,     ///< a range, beside others
  alone,    ///< when all before it have ended
  batch,    ///< when its lines have come
  version,  ///< and all below: the session's own decision
  tune,
  client,
  watch,
  range_watch,  ///< mw mu
  dump,
  quit,
};

/// Latencies are measured for each kind of command.
enum class command_kind : std::uint8_t {
  get,
  gat,
  set,
  remove,
  arithmetic,
  touch,
  mg,
  ms,
  md,
  ma,
  range,
  batch,  ///< timed from when its last line has come
  other
};
inline constexpr std::size_t kCommandKinds = static_cast<std::size_t>(command_kind::other) + 1;
[[nodiscard]] constexpr std::string_view name_of(command_kind kind) noexcept {
  constexpr std::array<std::string_view, kCommandKinds> kNames{
      "get", "gat", "set", "delete", "arithmetic", "touch", "mg",
      "ms",  "md",  "ma",  "range",  "batch",      "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// A command's form in the binary protocol: the opcode that is not quiet and whose answer has no key.
struct BinaryShape {
  opcode code = opcode::none;
  std::uint8_t extras = 0;  ///< bytes
  bool optional = false;    ///< extras, or a key, may be left out
};

struct Command {
  verb op{};
  std::string_view word{};  ///< first word of its line, or second one of `lru_crawler metadump`; has no space
  family belongs = family::control;
  PointTerms terms{};       ///< of a command for one key
  Grammar reads = nullptr;  ///< parses the rest of the line; null: another command has the first word
  least_role needs = least_role::administrator;
  beginning begins = beginning::alone;
  command_kind timed_as = command_kind::other;
  BinaryShape binary{};

  /// Whether it works on one key, or on several one by one.
  [[nodiscard]] constexpr bool is_point() const noexcept {
    return belongs == family::retrieval || belongs == family::storage || belongs == family::change ||
           belongs == family::meta;
  }
};

namespace detail {

// clang-format off
inline constexpr std::array<Command, kCommands> kCommandTable = [] {
  using enum family;
  using enum least_role;
  using act = point_action;
  using mode = store_mode;
  using from = beginning;
  using as = command_kind;
  constexpr PointTerms kReads{act::read};
  constexpr PointTerms kTouches{.action = act::read, .touches = true};
  constexpr PointTerms kRemoves{act::remove};
  constexpr auto stores = [](mode how) { return PointTerms{.action = act::store, .mode = how}; };
  constexpr auto counts = [](bool down) { return PointTerms{.action = act::count, .down = down}; };
  std::array<Command, kCommands> rows{{
    {verb::get, "get", retrieval, kReads, parse_retrieval, reader, from::keys, as::get, {opcode::get}},
    {verb::gets, "gets", retrieval, kReads, parse_retrieval, reader, from::keys, as::get},
    {verb::gat, "gat", retrieval, kTouches, parse_get_and_touch, writer, from::keys, as::gat, {opcode::gat, 4}},
    {verb::gats, "gats", retrieval, kTouches, parse_get_and_touch, writer, from::keys, as::gat},
    {verb::set, "set", storage, stores(mode::set), parse_storage, writer, from::value, as::set, {opcode::set, 8}},
    {verb::add, "add", storage, stores(mode::add), parse_storage, writer, from::value, as::set, {opcode::add, 8}},
    {verb::replace, "replace", storage, stores(mode::replace), parse_storage, writer, from::value, as::set, {opcode::replace, 8}},
    {verb::append, "append", storage, stores(mode::append), parse_storage, writer, from::value, as::set, {opcode::append}},
    {verb::prepend, "prepend", storage, stores(mode::prepend), parse_storage, writer, from::value, as::set, {opcode::prepend}},
    {verb::cas, "cas", storage, {.action = act::store, .compares = true}, parse_storage, writer, from::value, as::set},
    {verb::incr, "incr", change, counts(false), parse_change, writer, from::point, as::arithmetic, {opcode::increment, 20}},
    {verb::decr, "decr", change, counts(true), parse_change, writer, from::point, as::arithmetic, {opcode::decrement, 20}},
    {verb::touch, "touch", change, kTouches, parse_change, writer, from::point, as::touch, {opcode::touch, 4}},
    {verb::remove, "delete", change, kRemoves, parse_delete, writer, from::point, as::remove, {opcode::remove}},
    {verb::meta_get, "mg", meta, kReads, parse_meta, reader, from::point, as::mg},
    {verb::meta_set, "ms", meta, stores(mode::set), parse_meta_set, writer, from::value, as::ms},
    {verb::meta_delete, "md", meta, kRemoves, parse_meta, writer, from::point, as::md},
    {verb::meta_arithmetic, "ma", meta, counts(false), parse_meta, writer, from::point, as::ma},
    {verb::meta_debug, "me", meta, {act::inspect}, parse_meta, reader, from::point, as::other},
    {verb::meta_noop, "mn", noop, {}, parse_bare, anybody, from::noop, as::other, {opcode::noop}},
    {verb::meta_batch, "mb", batch, {}, parse_meta_batch, anybody, from::batch, as::batch},
    {verb::scan, "scan", range, {}, parse_range, reader, from::page, as::range},
    {verb::scans, "scans", range, {}, parse_range, reader, from::page, as::range},
    {verb::pscan, "pscan", range, {}, parse_range, reader, from::page, as::range},
    {verb::pscans, "pscans", range, {}, parse_range, reader, from::page, as::range},
    {verb::meta_range, "mr", meta_range, {}, parse_meta_range, reader, from::page, as::range},
    {verb::meta_count, "mc", meta_range, {}, parse_meta_range, reader, from::page, as::range},
    {verb::meta_range_delete, "mx", meta_range, {}, parse_meta_range, writer, from::alone, as::range},
    {verb::meta_range_touch, "mt", meta_range, {}, parse_meta_range, writer, from::alone, as::range},
    {verb::meta_watch, "mw", watching, {}, parse_meta_watch, reader, from::range_watch, as::other},
    {verb::meta_unwatch, "mu", watching, {}, parse_meta_unwatch, anybody, from::range_watch, as::other},
    {verb::stats, "stats", control, {}, parse_stats, reader, from::alone, as::other, {opcode::stat, 0, true}},
    {verb::version, "version", control, {}, parse_bare, anybody, from::version, as::other, {opcode::version}},
    {verb::verbosity, "verbosity", control, {}, parse_verbosity, administrator, from::alone, as::other, {opcode::verbosity, 4}},
    {verb::cache_memlimit, "cache_memlimit", control, {}, parse_cache_memlimit},
    {verb::shutdown, "shutdown", control, {}, parse_shutdown},
    {verb::debugtime, "debugtime", control, {}, parse_debugtime},
    {verb::config_get, "config", control, {}, parse_config},
    {verb::config_set, "config", control, {}, nullptr},
    {verb::refresh_certs, "refresh_certs", control, {}, parse_refresh_certs},
    {verb::metadump, "metadump", control, {}, nullptr, administrator, from::dump},
    {verb::mgdump, "mgdump", control, {}, nullptr, administrator, from::dump},
    {verb::cachedump, "cachedump", control, {}, nullptr, administrator, from::dump},
    {verb::watch, "watch", control, {}, parse_watch, administrator, from::watch},
    {verb::client, "client", control, {}, parse_client, anybody, from::client},
    {verb::tune, "lru", control, {}, parse_lru, administrator, from::tune},
    {verb::flush_all, "flush_all", control, {}, parse_flush_all, administrator, from::alone, as::other, {opcode::flush, 4, true}},
    {verb::quit, "quit", control, {}, parse_bare, anybody, from::quit, as::other, {opcode::quit}},
  }};
  for (Command& row : rows) {  // writes, and touch, whose reply does not show the item
    row.terms.ordered =
        effect_of(row.terms.action) != value_effect::none || (row.belongs == change && row.terms.touches);
  }
  return rows;
}();
// clang-format on

/// A bit for each command that fulfils `is`, so that the test of a request is one shift.
template <typename Is>
consteval std::uint64_t commands_that(Is is) {
  static_assert(kCommands <= 64, "a bit for each command");
  std::uint64_t bits = 0;
  for (std::size_t n = 0; n < kCommands; ++n) {
    if (kCommandTable[n].op != static_cast<verb>(n)) {
      throw "a row for each command, in the order of the enumerators";
    }
    bits |= std::uint64_t{is(kCommandTable[n])} << n;
  }
  return bits;
}

template <typename Is>
[[nodiscard]] constexpr bool is_command_that(verb op, Is) noexcept {
  constexpr std::uint64_t kBits = commands_that(Is{});
  return (kBits >> static_cast<unsigned>(op) & 1U) != 0;
}

}  // namespace detail

/// Thread-safety: any thread.
[[nodiscard]] constexpr const Command& command_of(verb op) noexcept {
  return detail::kCommandTable[static_cast<std::size_t>(op)];
}

/// All rows, in the order of the verbs. A row without a grammar has no first word of its own.
[[nodiscard]] constexpr std::span<const Command> all_commands() noexcept {
  return detail::kCommandTable;
}

/// A classic command with a data block.
[[nodiscard]] constexpr bool is_storage(verb op) noexcept {
  return detail::is_command_that(op, [](const Command& row) { return row.belongs == family::storage; });
}
/// Whether a data block follows the line.
[[nodiscard]] constexpr bool takes_value(verb op) noexcept {
  return detail::is_command_that(op, [](const Command& row) { return row.begins == beginning::value; });
}
[[nodiscard]] constexpr bool is_retrieval(verb op) noexcept {
  return detail::is_command_that(op, [](const Command& row) { return row.belongs == family::retrieval; });
}
/// A range in the meta form: mr, mc, mx, mt.
[[nodiscard]] constexpr bool is_meta_range(verb op) noexcept {
  return detail::is_command_that(op, [](const Command& row) { return row.belongs == family::meta_range; });
}
[[nodiscard]] constexpr bool is_range(verb op) noexcept {
  return detail::is_command_that(op, [](const Command& row) { return row.timed_as == command_kind::range; });
}
/// Whether samples of requests name its key: in hot keys, slow requests and places of items. Not me, which
/// only diagnoses.
[[nodiscard]] constexpr bool is_sampled_by_key(verb op) noexcept {
  return detail::is_command_that(
      op, [](const Command& row) { return row.is_point() && row.terms.action != point_action::inspect; });
}
/// A range whose items may change.
[[nodiscard]] constexpr bool changes_range(verb op) noexcept {
  return detail::is_command_that(op, [](const Command& row) {
    return row.belongs == family::meta_range && row.needs == least_role::writer;
  });
}
/// A meta command of memcached, mn included. Ranges and batches are not.
[[nodiscard]] constexpr bool is_meta(verb op) noexcept {
  return detail::is_command_that(
      op, [](const Command& row) { return row.belongs == family::meta || row.belongs == family::noop; });
}
/// The meta command of this action, by which a binary command is forwarded. mn: there is none.
[[nodiscard]] constexpr verb meta_form_of(point_action action) noexcept {
  for (const Command& row : detail::kCommandTable) {
    if (row.belongs == family::meta && row.terms.action == action) {
      return row.op;
    }
  }
  return verb::meta_noop;
}
/// Whether mb may have such a line: a command that works on one key and reports its outcome.
[[nodiscard]] constexpr bool may_stand_in_batch(verb op) noexcept {
  return detail::is_command_that(op, [](const Command& row) {
    return row.belongs == family::meta && row.terms.action != point_action::inspect;
  });
}

/// A command's name for people: its word in the text protocol. Commands without effect here are named `lru`.
[[nodiscard]] constexpr std::string_view name_of(verb op) noexcept {
  return command_of(op).word;
}

}  // namespace mxkv::protocol
