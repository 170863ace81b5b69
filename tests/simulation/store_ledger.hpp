// The contents of a store, by its tree's commit point alone: as a journal or a replica would know them.
//
// A ledger listens from the beginning and keeps a map of its own. At the end every item that is live in the
// tree must be in the map, with the same value, exptime and cas, and nothing else. So any way to change
// the store that does not pass the point is found. On the way it checks that the orders of each key grow,
// also over operations on ranges and flushes, no two of which share one, and that a change passes before it
// can be seen.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/store/store.hpp"
#include "tests/simulation/complaints.hpp"

namespace mxkv::simulation {

/// How often each kind of change passed.
struct PassedChanges {
  std::array<std::uint64_t, index::kChanges> by_kind{};
  std::uint64_t deleted = 0;
  std::uint64_t evicted = 0;
  std::uint64_t expired = 0;
  std::uint64_t delayed_flushes = 0;
  std::uint64_t groups = 0;

  [[nodiscard]] std::uint64_t operator[](index::change what) const noexcept {
    return by_kind[static_cast<std::size_t>(what)];
  }
  void add(const PassedChanges& other) noexcept;
};

class StoreLedger final : public index::CommitListener<std::string_view> {
 public:
  /// Listens from now on. While no worker runs; outlives the workers' operations.
  explicit StoreLedger(server::Store& store) : store_(store) { store.tree().commits().listen(this); }

  void passed(const index::Commit<std::string_view>& commit, runtime::Worker& worker) noexcept override;
  void group_begins(runtime::Worker& worker) noexcept override;
  void group_ends(runtime::Worker& worker) noexcept override;

  /// Compares with the tree, at a time at which no worker runs.
  void check(std::uint64_t now_us, Complaints& complaints);
  /// The leaf's word of an item that is in the tree, live or not; 0: there is none. While no worker runs.
  [[nodiscard]] std::uint64_t word_of(std::string_view key);
  [[nodiscard]] const PassedChanges& changes() const noexcept { return changes_; }

 private:
  /// The fields that distinguish items.
  struct Entry {
    std::string value;  ///< of small items
    std::uint64_t bytes = 0;
    std::uint32_t flags = 0;
    std::uint32_t expiry = 0;
    std::uint32_t marks = 0;  ///< except the mark of its winner, which does not count
    std::uint64_t order = 0;
    bool operator==(const Entry&) const = default;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  [[nodiscard]] static Entry entry_of(const server::Item& item);
  [[nodiscard]] bool live(const Entry& entry, std::uint64_t now_us) const noexcept;
  [[nodiscard]] static std::uint32_t counting(std::uint32_t marks) noexcept {
    return marks & ~std::uint32_t{server::Item::kWon};
  }
  void one_passed(const index::Commit<std::string_view>& commit);
  void touch(Entry& entry, const index::Commit<std::string_view>& commit);
  void operation_passed(const index::Commit<std::string_view>& commit);
  void range_passed(const index::Commit<std::string_view>& commit);
  void flush_passed(const index::Commit<std::string_view>& commit);
  void for_each_word(const std::function<void(std::uint64_t)>& visit);

  server::Store& store_;
  Entries entries_;
  std::map<std::string, std::uint64_t, std::less<>> orders_;  ///< of the last change of each key ever changed
  std::uint64_t operation_order_ = 0;                         ///< of the last operation on many keys
  std::uint64_t flush_order_ = 0;                             ///< of the last flush of all
  runtime::Worker* grouping_ = nullptr;
  std::vector<std::uint64_t> group_;  ///< words that it puts
  server::FlushPoints flush_points_;
  PassedChanges changes_;
  Complaints wrong_;
};

}  // namespace mxkv::simulation
