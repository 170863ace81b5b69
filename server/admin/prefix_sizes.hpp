// How large each prefix of the keys is, as `mc` with D tells it, but in one piece and at a bounded cost: all items of
// the range are read where it lies on few leaves; else leaves are drawn by random walks, and what is on them stands for
// the others. So a prefix that holds much is always found, and one that is small may be missed.
//
// One count at a time. It runs on a worker, behind all other work; whoever wants to know looks whether it is done.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "server/store/store_task.hpp"

namespace mxkv::server {

class Store;

/// Thread-safety: what is said of the asker is for one thread; of the tasks, for the worker that runs them.
class PrefixSizes {
 public:
  static constexpr unsigned kLeavesRead = 1024;  ///< of a range with more, leaves are drawn
  static constexpr unsigned kWalks = 2048;
  static constexpr std::size_t kMostGroups = 2000;  ///< that are told apart; the rest count as one

  struct Query {
    std::string prefix;     ///< of the keys that are looked at
    std::string delimiter;  ///< a group's name ends behind the first one that follows
    friend bool operator==(const Query&, const Query&) = default;
  };
  struct Group {
    double items = 0;
    double bytes = 0;  ///< of keys and values
    double drawn = 0;  ///< leaves that it was found on, where leaves are drawn
  };
  struct Found {
    std::map<std::string, Group, std::less<>> groups;
    Group single;       ///< keys without a delimiter
    Group rest;         ///< of groups beyond the most
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

  /// Not while it runs. `store` outlives the tasks, and this too.
  void start(Store& store, Query query, std::uint64_t seed);
  [[nodiscard]] state now() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] const Query& query() const noexcept { return query_; }
  /// When it is done.
  [[nodiscard]] const Found& found() const noexcept { return found_; }

  // --- For the tasks ---

  [[nodiscard]] Store& store() noexcept { return *store_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] bool beyond(std::string_view key) const noexcept {
    return key.substr(0, query_.prefix.size()) > query_.prefix;
  }
  void add(const Item::View& item, double weight);
  void forget() { found_ = {}; }
  /// What was added stands for so many times as much.
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
