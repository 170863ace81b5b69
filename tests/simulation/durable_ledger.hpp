// All changes that passed a store's commit point, in their order and with the epoch in which each passed: a
// start must find the earlier state with all changes up to some epoch and none behind it.
//
// The ledger stands between the store and the journal's listener, and loads the epoch itself, where a change passes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/commit/commit_epochs.hpp"
#include "server/durability/range_operations.hpp"
#include "server/store/store.hpp"
#include "tests/simulation/complaints.hpp"

namespace mxkv::simulation {

/// The fields of an item that outlive its process.
struct DurableItem {
  std::string value;
  std::uint32_t flags = 0;
  std::uint32_t expiry = 0;
  std::uint32_t marks = 0;  ///< except the mark of its winner
  std::uint64_t order = 0;
  bool operator==(const DurableItem&) const = default;
};
using DurableItems = std::map<std::string, DurableItem, std::less<>>;

/// All items, whether they have expired or not.
struct DurableState {
  DurableItems items;
  server::FlushState flushes;
  std::map<std::string, std::uint64_t, std::less<>> orders;  ///< of the last change of each key

  /// The items that clients would meet.
  [[nodiscard]] DurableItems live(std::uint64_t now_us) const;
};

/// The live items of a store's tree. While no worker runs.
[[nodiscard]] DurableItems items_of(server::Store& store, std::uint64_t now_us);
/// The difference; empty: there is none.
[[nodiscard]] std::string difference(const DurableItems& found, const DurableItems& expected);

/// A change as a reader of the log hears of it: what, key, order and value as text.
struct ToldChange {
  std::string text;
  std::string key{};
  std::uint64_t order = 0;
  std::uint64_t batch = 0;  ///< the same for all changes of a batch; 0: none

  friend bool operator==(const ToldChange&, const ToldChange&) = default;
};
using ChangesByEpoch = std::map<std::uint64_t, std::vector<ToldChange>>;
/// `what`: 'p' put, 'g' gone, 't' touched, 'f' flushed, of ranges 'G' and 'T'.
[[nodiscard]] std::string told_text(char what, std::string_view key, std::uint64_t order,
                                    std::string_view value = {});

/// Thread-safety: as CommitListener; the rest while no worker runs.
class DurableLedger final : public index::CommitListener<std::string_view> {
 public:
  /// Begins with the state that is there. `told`: the greatest cas of each key that clients know.
  DurableLedger(DurableState begin, std::map<std::string, std::uint64_t, std::less<>> told)
      : begin_(std::move(begin)), told_(std::move(told)) {
    for (const auto& [key, order] : begin_.orders) {
      told_[key] = std::max(told_[key], order);
    }
  }
  /// From now on, until null: labels are the epochs of `epochs`, and all changes are passed on to `next`.
  void listen(const server::CommitEpochs* epochs, index::CommitListener<std::string_view>* next) noexcept {
    epochs_ = epochs;
    next_ = next;
  }

  void passed(const index::Commit<std::string_view>& commit, runtime::Worker& worker) noexcept override;
  void group_begins(runtime::Worker& worker) noexcept override;
  void group_ends(runtime::Worker& worker) noexcept override;

  /// The state with all changes whose epoch is not greater.
  [[nodiscard]] DurableState at(std::uint64_t epoch) const;
  [[nodiscard]] std::uint64_t changes_after(std::uint64_t epoch) const;
  /// The changes of a key that passed, for a failure's message.
  [[nodiscard]] std::string story_of(std::string_view key) const;
  [[nodiscard]] std::uint64_t groups() const noexcept { return groups_; }
  /// The changes that a reader of the log hears of, by epoch: see durable_reader.hpp.
  [[nodiscard]] const ChangesByEpoch& told() const noexcept { return epochs_told_; }
  /// From now on the journal gets each order in a batch as if its key alone had minted it.
  void mint_alone() noexcept { mints_alone_ = true; }
  /// The faults of the changes that passed.
  [[nodiscard]] const Complaints& wrong() const noexcept { return wrong_; }

 private:
  struct Passed {
    std::uint64_t label = 0;
    index::Change change;
    std::string key;  ///< or the beginning of a range
    std::string to{};
    index::far_end far = index::far_end::none;
    bool skips_from = false;
    std::uint64_t moment_us = 0;
    std::uint64_t set_us = 0;
    DurableItem item{};

    [[nodiscard]] bool beyond(std::string_view at) const;
  };
  void note_told(const Passed& passed);
  [[nodiscard]] index::Commit<std::string_view> as_minted_alone(const index::Commit<std::string_view>& commit,
                                                                const runtime::Worker& worker);
  static void apply(const Passed& passed, DurableState& state);

  DurableState begin_;
  std::map<std::string, std::uint64_t, std::less<>> told_;
  const server::CommitEpochs* epochs_ = nullptr;
  index::CommitListener<std::string_view>* next_ = nullptr;
  std::uint64_t group_label_ = 0;  ///< 0: no group is open
  std::uint64_t groups_ = 0;
  std::vector<Passed> passed_;
  ChangesByEpoch epochs_told_;
  bool mints_alone_ = false;
  std::map<std::string, std::uint64_t, std::less<>> recorded_;  ///< greatest order of each key, if so
  Complaints wrong_;
};

}  // namespace mxkv::simulation
