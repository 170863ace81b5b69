// What a client asked of a simulated store and what it was told, as far as it concerns the few keys that a
// history is kept of. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/reply/reply_address.hpp"

namespace mxkv::simulation {

inline constexpr std::size_t kMostHistoryKeys = 8;

/// What is known of a key's item.
struct KeyState {
  bool there = false;
  std::uint32_t expiry = 0;  ///< unix seconds; 0: never
  std::uint64_t number = 0;
  std::uint64_t unique = 0;  ///< 0: nobody was told
  friend bool operator==(const KeyState&, const KeyState&) = default;
};
using KeyStates = std::array<KeyState, kMostHistoryKeys>;

enum class act : std::uint8_t { get, touch, set, add, replace, remove, count_up, count_down, append };

/// How a command ended, as its client was told.
enum class told : std::uint8_t { unknown, done, missing, not_stored, exists };

/// A command on one key.
struct CommandLine {
  static constexpr std::uint8_t kOtherKey = 0xFF;  ///< one that no history is kept of
  act what = act::get;
  std::uint8_t key = kOtherKey;
  std::uint64_t operand = 0;
  std::uint32_t expiry = 0;
  std::optional<std::uint64_t> compare{};  ///< with the unique
  std::optional<std::uint64_t> expects{};  ///< what it stood for, where no number is written twice
  told reply = told::unknown;
  std::optional<std::uint64_t> number{};  ///< that was told
  std::uint64_t unique = 0;               ///< that was told; 0: none was
};

/// An item that a page showed.
struct SeenItem {
  std::uint8_t key = 0;
  std::uint64_t number = 0;
  std::uint64_t unique = 0;  ///< 0: it was not told
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
  bool may_fail = false;  ///< where nobody was told: perhaps there was no memory for it
  std::vector<CommandLine> lines{};
  std::size_t failed_line = 0;

  // Ranges: keys from `first` up to but without `last`.
  std::uint8_t first = 0;
  std::uint8_t last = 0;
  bool others = false;  ///< keys that no history is kept of lie between
  std::vector<SeenItem> seen{};
  std::uint64_t items = 0;  ///< erase, touch
  std::uint64_t numbers = 0;
  std::uint64_t sum = 0;
  std::uint32_t expiry = 0;

  // Which connection sent it, and in which order.
  std::uint64_t session = 0;  ///< 0: none did
  std::uint64_t number = 0;
  server::operation_kind kind = server::operation_kind::read;

  std::uint64_t invoked = 0;
  std::uint64_t responded = kNever;
  std::uint64_t from_us = 0;  ///< the earliest that anybody took for now while it ran
  std::uint64_t until_us = kNever;

  [[nodiscard]] bool did_nothing() const { return end == ending::refused || end == ending::no_memory; }
};

/// For a failure's message. Uniques and times by their last digits.
[[nodiscard]] std::string describe(const Operation& op);
/// The keys that it has to do with, as bits.
[[nodiscard]] std::uint32_t keys_of(const Operation& op);
/// Whether it leaves every state alone.
[[nodiscard]] bool only_reads(const Operation& op);
/// Whether `later` takes effect after `earlier`, since one connection sent them in this order: writes do,
/// whatever their keys are, and of one key whatever is not read twice.
[[nodiscard]] bool must_follow(const Operation& later, const Operation& earlier);
/// What an operation was to one key alone; empty: nothing that is known.
[[nodiscard]] std::optional<Operation> projected(const Operation& op, std::size_t key);

}  // namespace mxkv::simulation
