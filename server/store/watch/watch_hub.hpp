// `watch`: sends events about items, in memcached's lines, to clients that asked for them.
//
// A watcher has a bounded buffer. Lines that do not fit are lost and counted, so a slow watcher never holds
// up the server. Without watchers an event costs a load and a branch.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/store/watch/prefix_counts.hpp"

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class Item;

/// Kinds of events, as bits.
namespace watched {
inline constexpr std::uint32_t kFetchers = 1;
inline constexpr std::uint32_t kMutations = 2;
inline constexpr std::uint32_t kEvictions = 4;
inline constexpr std::uint32_t kDeletions = 8;
inline constexpr std::uint32_t kConnections = 16;
}  // namespace watched

/// One client that watches. Thread-safety: any thread.
class Watcher {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 10U;  ///< until its connection takes them

  Watcher(std::uint32_t kinds, std::uint16_t worker) noexcept : kinds_(kinds), worker_(worker) {}

  [[nodiscard]] std::uint32_t kinds() const noexcept { return kinds_; }
  [[nodiscard]] std::uint16_t worker() const noexcept { return worker_; }

  enum class offered : std::uint8_t { kept, kept_wake, lost };
  /// Keeps a line if there is room. kept_wake: the connection does not yet know that there are lines to take.
  offered offer(std::string_view line);
  /// Takes all lines kept so far.
  [[nodiscard]] std::string take();

 private:
  const std::uint32_t kinds_;
  const std::uint16_t worker_;
  std::mutex mutex_;  ///< guards the rest
  std::string lines_;
  std::uint64_t lost_ = 0;  ///< since the last line that was kept
  bool woken_ = false;
};

/// All watchers. Thread-safety: any thread, unless a function says otherwise.
class WatchHub {
 public:
  static constexpr std::size_t kMostWatchers = 20;  ///< as memcached

  /// Tells the owner of a worker's sockets that one of its watchers has lines. `from`: the worker that runs
  /// now.
  struct Waker {
    void* context = nullptr;
    void (*wake)(void* context, runtime::Worker& from) = nullptr;
  };
  /// One waker for each worker, in order. Start-up only.
  void add_waker(Waker waker) {
    MXKV_ASSERT(waker.wake != nullptr, "a waker can wake");
    wakers_.push_back(waker);
  }

  /// Null: there are too many watchers.
  [[nodiscard]] std::shared_ptr<Watcher> add(std::uint32_t kinds, std::uint16_t worker);
  void remove(const std::shared_ptr<Watcher>& watcher);

  /// Whether a watcher wants any of these kinds. Relaxed: a new watcher sees events from soon after its
  /// start.
  [[nodiscard]] bool wants(std::uint32_t kinds) const noexcept {
    return (wanted_.load(std::memory_order_relaxed) & kinds) != 0;
  }

  /// Turns counting by prefix on or off. While it is on, commands are reported here as if a watcher wanted
  /// them.
  void count_prefixes(bool on);
  [[nodiscard]] bool counts_prefixes() const noexcept {
    return counts_prefixes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] PrefixCounts& prefixes() noexcept { return prefixes_; }

  // Events, if wanted. `cfd`: the client's socket, as `client list` names it; 0: no client.
  void fetched(runtime::Worker& worker, std::string_view key, bool found, std::uint64_t bytes, int cfd);
  /// The result of the look-up of a command other than a read, before the command did anything. Fetchers see
  /// it, too.
  void met(runtime::Worker& worker, std::string_view key, bool found, std::uint64_t bytes, int cfd);
  void stored(runtime::Worker& worker, std::string_view key, std::string_view status,
              std::string_view command, std::uint32_t expiry, std::uint64_t bytes, int cfd);
  void deleted(runtime::Worker& worker, std::string_view key, std::string_view command, std::uint64_t bytes,
               int cfd);
  void evicted(runtime::Worker& worker, const Item& item);
  /// `peer` as "tcp:10.0.0.1:40000". `reason`: why the connection was closed; empty: it was opened.
  void connection(runtime::Worker& worker, std::string_view peer, std::string_view reason, int cfd);

  [[nodiscard]] std::size_t watchers() const;
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  void tell(runtime::Worker& worker, std::uint32_t kind, const std::string& what);
  void settle_wanted() noexcept;

  std::atomic<std::uint32_t> wanted_{0};
  std::atomic<bool> counts_prefixes_{false};  // relaxed: commands that run meanwhile may be counted or not
  PrefixCounts prefixes_;
  std::atomic<std::uint64_t> number_{0};  // relaxed: only makes each line's number unique
  std::atomic<std::uint64_t> sent_{0};    // relaxed: statistics
  std::atomic<std::uint64_t> lost_{0};
  std::vector<Waker> wakers_;
  mutable std::mutex mutex_;  ///< guards watchers_
  std::vector<std::shared_ptr<Watcher>> watchers_;
};

}  // namespace mxkv::server
