// Whether the clients' answers can be explained by operations on MANY keys that each took effect at one
// moment between their invocation and their response.
//
// The state is a small map of keys to numbers. An operation turns a state into the states that it may leave
// behind, given its client's answer. The search is the one of tests/unit/index/linearizability.hpp [Wing and
// Gong; Lowe's "just in time"]: responses are taken in their order, and an operation gets its moment only
// when a response forces it, or as soon as it changes nothing. A configuration is a state and the set of open
// operations that already took effect; each is looked at once.
//
// Unlocked reads may see part of an operation. They are left out of the history of all keys, and are part of
// the histories of single keys, which projected() makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/store_operation.hpp"

namespace mxkv::simulation {

/// Thread-safety: one thread.
class StoreHistory {
 public:
  /// `evicts`: any item may vanish at any time.
  StoreHistory(const KeyStates& begin, bool evicts) : begin_(begin), evicts_(evicts) {}

  /// A search that has looked at so many configurations is given up.
  void set_patience(std::size_t most) noexcept { most_ = most; }
  void add(Operation op) { operations_.push_back(std::move(op)); }
  [[nodiscard]] std::size_t size() const noexcept { return operations_.size(); }
  [[nodiscard]] const std::vector<Operation>& operations() const noexcept { return operations_; }

  /// Empty: all operations but unlocked reads can be explained, and for each single key all of them can. Else
  /// the operation without explanation.
  [[nodiscard]] std::optional<std::string> contradiction() const;
  /// Searches that contradiction() gave up, since there were too many configurations.
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }

 private:
  [[nodiscard]] std::optional<std::string> search(const std::vector<Operation>& operations) const;

  KeyStates begin_;
  bool evicts_;
  std::size_t most_ = 100'000;
  std::vector<Operation> operations_;
  mutable std::uint64_t given_up_ = 0;
};

}  // namespace mxkv::simulation
