// Where each shard's keys are now, as seen from this node: requests ask this before they go to the store.
//
// A cluster's ranges are fixed when it is made, so reading the splits needs no synchronization. Three words
// change per shard: its route; the moment until which it is here, which is all that most requests read; and
// the freshness of a replica. The cluster's thread writes them; hint() of any thread may change the route.
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
#include "server/reply/begun_changes.hpp"

namespace mxkv::server {

/// The place that answers requests for a shard.
struct Route {
  enum class to : std::uint8_t {
    nobody,  ///< it has no known owner, or is being handed over
    here,    ///< this node owns it; reads are correct while its lease runs
    peer,    ///< another node, maybe: the asked node answers, or says where the shard is
  };
  to where = to::nobody;
  std::uint32_t peer = 0;  ///< the peer's number, if `where` is peer

  friend bool operator==(const Route&, const Route&) = default;
};

/// Thread-safety: given per function.
class Routes {
 public:
  /// `splits`: the first keys of all shards except the first, in order, none empty. The first shard begins
  /// with the least key.
  explicit Routes(std::vector<std::string> splits);
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  // -- any thread

  [[nodiscard]] std::uint32_t shards() const noexcept {
    return static_cast<std::uint32_t>(splits_.size() + 1);
  }
  [[nodiscard, gnu::always_inline]] std::uint32_t shard_of(std::string_view key) const noexcept {
    const std::uint64_t head = index::head_of(key, 0);
    std::size_t at = 0;  // without a branch that depends on the keys
    for (const std::uint64_t split : heads_) {
      at += static_cast<std::size_t>(split < head);
    }
    return at < heads_.size() && heads_[at] == head ? shard_behind(at, key, head)
                                                    : static_cast<std::uint32_t>(at);
  }
  /// The shard's first key; empty: the least key.
  [[nodiscard]] std::string_view begin_of(std::uint32_t shard) const noexcept {
    return shard == 0 ? std::string_view{} : std::string_view{splits_[shard - 1]};
  }
  /// The next shard's first key; empty: the shard has no end.
  [[nodiscard]] std::string_view end_of(std::uint32_t shard) const noexcept {
    return shard == splits_.size() ? std::string_view{} : std::string_view{splits_[shard]};
  }
  [[nodiscard]] Route route(std::uint32_t shard) const noexcept {
    return unpack(cells_[shard].route.load(std::memory_order_acquire));  // pairs with set()
  }
  /// Whether the shard is here, and its lease runs: then reads are correct.
  [[nodiscard]] bool is_here(std::uint32_t shard, std::uint64_t now_ns) const noexcept {
    return now_ns < cells_[shard].here_until_ns.load(std::memory_order_acquire);  // pairs with tell_here()
  }
  /// Whether memory has all changes of the shard that were acknowledged `staleness_ns` before `now_ns`. Only
  /// for a shard that is not here.
  [[nodiscard]] bool is_fresh(std::uint32_t shard, std::uint64_t now_ns,
                              std::uint64_t staleness_ns) const noexcept {
    const std::uint64_t from_ns = cells_[shard].fresh_from_ns.load(std::memory_order_acquire);
    return from_ns != 0 && now_ns <= from_ns + staleness_ns;
  }
  /// The number of the node whose peer listener has this address: always the same.
  [[nodiscard]] std::uint32_t peer(std::string_view address);
  [[nodiscard]] std::string peer_address(std::uint32_t peer) const;
  /// The changes that began while their shard was here. Thread-safety: as ChangePeriods; the asker is the cluster's
  /// thread.
  [[nodiscard]] ChangePeriods& changes() noexcept { return changes_; }

  // -- the cluster's thread, except hint()

  void set(std::uint32_t shard, const Route& route) noexcept {
    MXKV_ASSERT(shard < shards(), "each shard of the map has a route");
    cells_[shard].route.store(pack(route), std::memory_order_release);
    tell_here(cells_[shard], route);
  }
  /// Any thread. A node answered that another node has the shard: takes that, unless the route has changed
  /// meanwhile.
  void hint(std::uint32_t shard, const Route& before, const Route& route) noexcept {
    MXKV_DCHECK(before.where != Route::to::here && route.where != Route::to::here, "its log alone says so");
    std::uint64_t expected = pack(before);
    cells_[shard].route.compare_exchange_strong(expected, pack(route), std::memory_order_acq_rel);
  }
  /// Until when the shard is here once its route says so; monotonic clock.
  void set_lease(std::uint32_t shard, std::uint64_t until_ns) noexcept {
    cells_[shard].lease_until_ns = until_ns;
    tell_here(cells_[shard], route(shard));
  }
  /// The moment from Freshness; 0: memory must not be read.
  void set_fresh_from(std::uint32_t shard, std::uint64_t from_ns) noexcept {
    MXKV_ASSERT(from_ns == 0 || route(shard).where != Route::to::here, "an owner's memory is not a copy");
    cells_[shard].fresh_from_ns.store(from_ns, std::memory_order_release);
  }

 private:
  /// Compares whole splits, from `at` on, that have the key's first eight bytes.
  [[nodiscard, gnu::noinline]] std::uint32_t shard_behind(std::size_t at, std::string_view key,
                                                          std::uint64_t head) const noexcept;

  struct alignas(64) Cell {
    std::atomic<std::uint64_t> route{0};
    std::atomic<std::uint64_t> here_until_ns{0};  ///< 0: the shard is not here
    std::atomic<std::uint64_t> fresh_from_ns{0};
    std::uint64_t lease_until_ns = 0;  ///< for the cluster's thread
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
  ChangePeriods changes_;
  mutable std::mutex mutex_;  ///< guards the next member
  std::deque<std::string> peers_;
};

}  // namespace mxkv::server
