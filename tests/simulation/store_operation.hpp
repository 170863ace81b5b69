// A client's request to a simulated store and its answer, as far as they concern the few keys with a history.
// Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/reply/reply_address.hpp"

namespace mxkv::simulation {

inline constexpr std::size_t kMostHistoryKeys = 8;

/// The known state of a key's item.
struct KeyState {
  bool there = false;
  std::uint32_t expiry = 0;  ///< unix seconds; 0: never
  std::uint64_t number = 0;
  std::uint64_t cas = 0;  ///< 0: no client got it
  friend bool operator==(const KeyState&, const KeyState&) = default;
};
using KeyStates = std::array<KeyState, kMostHistoryKeys>;

enum class act : std::uint8_t { get, touch, set, add, replace, remove, count_up, count_down, append };

/// How a command ended, by its client's reply.
enum class told : std::uint8_t { unknown, done, missing, not_stored, exists };

/// A command on one key.
struct CommandLine {
  static constexpr std::uint8_t kOtherKey = 0xFF;  ///< a key without a history
  act what = act::get;
  std::uint8_t key = kOtherKey;
  std::uint64_t operand = 0;
  std::uint32_t expiry = 0;
  std::optional<std::uint64_t> compare{};  ///< with the cas
  std::optional<std::uint64_t> expects{};  ///< its number, where no number is written twice
  told reply = told::unknown;
  std::optional<std::uint64_t> number{};  ///< in the reply
  std::uint64_t cas = 0;                  ///< in the reply; 0: none was
};

/// An item that a page showed.
struct SeenItem {
  std::uint8_t key = 0;
  std::uint64_t number = 0;
  std::uint64_t cas = 0;  ///< 0: not in the reply
};

enum class operation : std::uint8_t {
  line,
  batch,
  page,   ///< shows a range
  count,  ///< counts and adds up the numbers of a range
  erase,  ///< removes a range
  touch,  ///< gives a range another expiry
};

enum class ending : std::uint8_t {
  unknown,  ///< the client has gone; maybe nothing was done
  done,
  failed,     ///< a line of a batch failed, and nothing was done
  refused,    ///< nothing was done: there were too many keys
  no_memory,  ///< nothing was done
};

struct Operation {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  operation what = operation::line;
  ending end = ending::unknown;
  bool locked = true;     ///< false: each key is a moment of its own
  bool partial = false;   ///< unlocked: keys may have been left out
  bool recorded = true;   ///< in the history
  bool may_fail = false;  ///< without a reply: perhaps there was no memory for it
  std::vector<CommandLine> lines{};
  std::size_t failed_line = 0;

  // Ranges: keys from `first` up to but without `last`.
  std::uint8_t first = 0;
  std::uint8_t last = 0;
  bool others = false;  ///< keys without a history lie between
  std::vector<SeenItem> seen{};
  std::uint64_t items = 0;  ///< erase, touch
  std::uint64_t numbers = 0;
  std::uint64_t sum = 0;
  std::uint32_t expiry = 0;

  // The connection that sent it, and the place in its order.
  std::uint64_t session = 0;  ///< 0: none did
  std::uint64_t number = 0;
  server::operation_kind kind = server::operation_kind::read;

  std::uint64_t invoked = 0;
  std::uint64_t responded = kNever;
  std::uint64_t from_us = 0;  ///< the earliest time that any worker took for now while it ran
  std::uint64_t until_us = kNever;

  [[nodiscard]] bool did_nothing() const { return end == ending::refused || end == ending::no_memory; }
};

/// For a failure's message. Cas values and times by their last digits.
[[nodiscard]] std::string describe(const Operation& op);
/// The keys that it concerns, as bits.
[[nodiscard]] std::uint32_t keys_of(const Operation& op);
/// Whether it leaves every state alone.
[[nodiscard]] bool only_reads(const Operation& op);
/// Whether `later` takes effect after `earlier`, since one connection sent them in this order. Writes do,
/// whatever their keys are; so do any two operations on one key, unless both read.
[[nodiscard]] bool must_follow(const Operation& later, const Operation& earlier);
/// The part of an operation that concerns one key; empty: nothing known.
[[nodiscard]] std::optional<Operation> projected(const Operation& op, std::size_t key);

}  // namespace mxkv::simulation
