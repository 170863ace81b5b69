// Where each shard's keys are now, as seen from this node: what requests ask before they go to the store.
//
// The ranges are fixed when a cluster is made, so that the splits are read without any care. What changes is a word a
// shard for who has it, one for until when it is here, which is all that most requests ask, and one for how fresh a
// replica is; the cluster's thread writes them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "index/key.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// Who answers for a shard.
struct Route {
  enum class to : std::uint8_t {
    nobody,  ///< it has no owner that is known, or is being handed over
    here,    ///< this node owns it; reads are right while its lease runs
    peer,    ///< another node, maybe: who is asked there says who has it
  };
  to where = to::nobody;
  std::uint32_t peer = 0;  ///< its number, if there

  friend bool operator==(const Route&, const Route&) = default;
};

/// How many requests a worker sent on to other nodes, ever, and of these, how many ended, and all before them. One
/// writer: the worker. What is behind an acquired number happened.
struct ForwardMarks {
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> ended{0};
};

/// Thread-safety: given per function.
class Routes {
 public:
  /// `splits`: the first keys of all shards but the first, which begins with the least key; in order, none empty.
  explicit Routes(std::vector<std::string> splits);
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  // -- any thread

  [[nodiscard]] std::uint32_t shards() const noexcept {
    return static_cast<std::uint32_t>(splits_.size() + 1);
  }
  [[nodiscard, gnu::always_inline]] std::uint32_t shard_of(std::string_view key) const noexcept {
    const std::uint64_t head = index::head_of(key, 0);
    std::size_t at = 0;  // without a branch on what the keys are
    for (const std::uint64_t split : heads_) {
      at += static_cast<std::size_t>(split < head);
    }
    return at < heads_.size() && heads_[at] == head ? shard_behind(at, key, head)
                                                    : static_cast<std::uint32_t>(at);
  }
  /// The first key that is its; empty: from the least on.
  [[nodiscard]] std::string_view begin_of(std::uint32_t shard) const noexcept {
    return shard == 0 ? std::string_view{} : std::string_view{splits_[shard - 1]};
  }
  /// The first key that is the next one's; empty: it has no end.
  [[nodiscard]] std::string_view end_of(std::uint32_t shard) const noexcept {
    return shard == splits_.size() ? std::string_view{} : std::string_view{splits_[shard]};
  }
  [[nodiscard]] Route route(std::uint32_t shard) const noexcept {
    return unpack(cells_[shard].route.load(std::memory_order_acquire));  // pairs with set()
  }
  /// Whether the shard is here, and its lease runs: what is read then is right.
  [[nodiscard]] bool is_here(std::uint32_t shard, std::uint64_t now_ns) const noexcept {
    return now_ns < cells_[shard].here_until_ns.load(std::memory_order_acquire);  // pairs with tell_here()
  }
  /// Whether memory has all of the shard that was acknowledged `staleness_ns` before `now_ns`. Only where it is not here.
  [[nodiscard]] bool is_fresh(std::uint32_t shard, std::uint64_t now_ns,
                              std::uint64_t staleness_ns) const noexcept {
    const std::uint64_t from_ns = cells_[shard].fresh_from_ns.load(std::memory_order_acquire);
    return from_ns != 0 && now_ns <= from_ns + staleness_ns;
  }
  /// The number of the node whose peer listener has this address: always the same one.
  [[nodiscard]] std::uint32_t peer(std::string_view address);
  [[nodiscard]] std::string peer_address(std::uint32_t peer) const;
  /// One for each who sends requests on; it is there as long as this.
  [[nodiscard]] ForwardMarks& add_marks();
  /// What was sent on so far, by worker.
  [[nodiscard]] std::vector<std::uint64_t> forwards_begun() const;
  /// Whether all of that has ended.
  [[nodiscard]] bool forwards_ended(const std::vector<std::uint64_t>& begun) const;

  // -- the cluster's thread

  void set(std::uint32_t shard, const Route& route) noexcept {
    cells_[shard].route.store(pack(route), std::memory_order_release);
    tell_here(cells_[shard], route);
  }
  /// A node that was asked said that another one has it: taken unless this node knows better by its log.
  void hint(std::uint32_t shard, const Route& before, const Route& route) noexcept {
    MXKV_DCHECK(before.where != Route::to::here && route.where != Route::to::here, "its log alone says so");
    std::uint64_t expected = pack(before);
    cells_[shard].route.compare_exchange_strong(expected, pack(route), std::memory_order_acq_rel);
  }
  /// Monotonic clock: how long it is here once its route says so.
  void set_lease(std::uint32_t shard, std::uint64_t until_ns) noexcept {
    cells_[shard].lease_until_ns = until_ns;
    tell_here(cells_[shard], route(shard));
  }
  /// As Freshness says; 0: memory is not to be read.
  void set_fresh_from(std::uint32_t shard, std::uint64_t from_ns) noexcept {
    cells_[shard].fresh_from_ns.store(from_ns, std::memory_order_release);
  }

 private:
  /// Where splits begin as the key does: from `at` on.
  [[nodiscard, gnu::noinline]] std::uint32_t shard_behind(std::size_t at, std::string_view key,
                                                          std::uint64_t head) const noexcept;

  struct alignas(64) Cell {
    std::atomic<std::uint64_t> route{0};
    std::atomic<std::uint64_t> here_until_ns{0};  ///< 0: it is not here
    std::atomic<std::uint64_t> fresh_from_ns{0};
    std::uint64_t lease_until_ns = 0;  ///< the cluster's thread's
  };

  static void tell_here(Cell& cell, const Route& route) noexcept {
    cell.here_until_ns.store(route.where == Route::to::here ? cell.lease_until_ns : 0,
                             std::memory_order_release);
  }

  [[nodiscard]] static std::uint64_t pack(const Route& route) noexcept {
    return static_cast<std::uint64_t>(route.where) | std::uint64_t{route.peer} << 8U;
  }
  [[nodiscard]] static Route unpack(std::uint64_t word) noexcept {
    return {static_cast<Route::to>(word & 0xFFU), static_cast<std::uint32_t>(word >> 8U)};
  }

  std::vector<std::string> splits_;
  std::vector<std::uint64_t>
      heads_;  ///< the first eight bytes of each split, as a number in the order of keys
  std::unique_ptr<Cell[]> cells_;
  mutable std::mutex mutex_;  ///< of what follows
  std::deque<std::string> peers_;
  std::deque<ForwardMarks> marks_;
};

}  // namespace mxkv::server
