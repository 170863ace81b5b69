// The size of each key prefix, as `mc` with D shows it, but in one piece and at a bounded cost. If the range
// has few leaves, all of its items are read. Otherwise random walks draw leaves, and their items stand for
// the others. So a prefix with many items is always found, and a small one may be missed.
//
// One count at a time. It runs on a worker, behind all other work. The asker polls until it is done.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "server/store/core/store_task.hpp"

namespace mxkv::server {

class Store;

/// Thread-safety: one thread for the asker's functions; the tasks' functions are for the worker that runs the
/// tasks.
class PrefixSizes {
 public:
  static constexpr unsigned kLeavesRead = 1024;  ///< if a range has more leaves, some are drawn
  static constexpr unsigned kWalks = 2048;
  static constexpr std::size_t kMostGroups = 2000;  ///< that have names; all others count together

  struct Query {
    std::string prefix;     ///< of the keys to count
    std::string delimiter;  ///< a group's name ends after the first delimiter behind the prefix
    friend bool operator==(const Query&, const Query&) = default;
  };
  struct Group {
    double items = 0;
    double bytes = 0;  ///< of keys and values
    double drawn = 0;  ///< drawn leaves that had its keys, unless all were read
  };
  struct Found {
    std::map<std::string, Group, std::less<>> groups;
    Group single;       ///< keys without a delimiter behind the prefix
    Group rest;         ///< groups beyond kMostGroups
    bool exact = true;  ///< all items were read
  };
  enum class state : std::uint8_t {
    idle,
    running,
    done,
    failed,  ///< the workers have ended
  };

  PrefixSizes() = default;
  PrefixSizes(const PrefixSizes&) = delete;
  PrefixSizes& operator=(const PrefixSizes&) = delete;

  // --- For the asker ---

  /// Not while a count runs. `store` outlives the tasks, and so does this object.
  void start(Store& store, Query query, std::uint64_t seed);
  [[nodiscard]] state now() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] const Query& query() const noexcept { return query_; }
  /// Valid once the count is done.
  [[nodiscard]] const Found& found() const noexcept { return found_; }

  // --- For the tasks ---

  [[nodiscard]] Store& store() noexcept { return *store_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] bool beyond(std::string_view key) const noexcept {
    return key.substr(0, query_.prefix.size()) > query_.prefix;
  }
  void add(const Item::View& item, double weight);
  void forget() { found_ = {}; }
  /// Ends the count. `walks`: the sums come from so many walks, and are divided by that. At most 1: all items were read.
  void ended(double walks);
  void lost() noexcept { state_.store(state::failed, std::memory_order_release); }

 private:
  Store* store_ = nullptr;
  Query query_;
  std::uint64_t seed_ = 0;
  Found found_;
  std::atomic<state> state_{
      state::idle};  // hands over all above: release by the one side, acquire by the other
};

}  // namespace mxkv::server
