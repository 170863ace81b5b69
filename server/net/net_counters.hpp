// What the network side counts, one set a worker, and the sums that all workers share.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/cache_line.hpp"

namespace mxkv::server {

/// Relaxed, one writer each: statistics. Thread-safety: written by the owner worker, read by any thread.
struct alignas(runtime::kCacheLineBytes) NetCounters {
  std::atomic<std::uint64_t> read_bytes{0};
  std::atomic<std::uint64_t> written_bytes{0};
  std::atomic<std::uint64_t> yields{0};       ///< a connection's share of a turn was used up
  std::atomic<std::uint64_t> taken_in{0};     ///< connections that came from another worker
  std::atomic<std::uint64_t> stalled{0};      ///< closed, because they read nothing
  std::atomic<std::uint64_t> idle_closed{0};  ///< closed by the idle time-out
  std::atomic<std::uint64_t> output_full{
      0};                                    ///< closed, because unread replies used up their share of memory
  std::atomic<std::uint64_t> input_full{0};  ///< closed, because unfinished input used up its share
  std::atomic<std::uint64_t> journal_pauses{0};  ///< not read, because the journal was full
  std::atomic<std::uint64_t> journal_closed{0};  ///< closed, because what they were to be told was lost
  std::atomic<std::uint64_t> rate_pauses{0};     ///< not read, because their share of a second was used up
  std::atomic<std::uint64_t> held{0};            ///< whose output waits for the disk now
  std::atomic<std::uint64_t> handshakes{0};      ///< of TLS, that ended well
  std::atomic<std::uint64_t> handshake_errors{0};
  std::atomic<std::uint64_t> tls_by_kernel{0};  ///< connections that the kernel encrypts for

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

/// Connections of all workers. Relaxed: limits and statistics, nothing is ordered by them. Any thread.
struct ConnectionCounters {
  std::atomic<std::uint64_t> open{0};      ///< handed over to a worker and not yet closed
  std::atomic<std::uint64_t> by_tls{0};    ///< open, that ended the handshake of TLS
  std::atomic<std::uint64_t> total{0};     ///< ever accepted
  std::atomic<std::uint64_t> rejected{0};  ///< over the limit
  std::atomic<std::uint64_t> crowded{0};   ///< over the limit of one address
  std::atomic<std::uint64_t> starved{0};   ///< refused without a descriptor left

  std::atomic<std::uint64_t> near{0};  ///< that went to the node which their packets arrive on

  // See descriptor_shortage.hpp.
  std::atomic<bool> accepting{true};
  std::atomic<std::uint64_t> shortages{0};    ///< how often there was no descriptor left
  std::atomic<std::uint64_t> shortage_us{0};  ///< how long, but for the one that lasts
};

/// Sums over workers, at some recent moment.
struct NetStats {
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t yields = 0;
  std::uint64_t moved_connections = 0;
  std::uint64_t stalled = 0;
  std::uint64_t idle_closed = 0;
  std::uint64_t output_full = 0;
  std::uint64_t input_full = 0;
  std::uint64_t journal_pauses = 0;
  std::uint64_t journal_closed = 0;
  std::uint64_t rate_pauses = 0;
  std::uint64_t held = 0;
  std::uint64_t tls_connections = 0;
  std::uint64_t handshakes = 0;
  std::uint64_t handshake_errors = 0;
  std::uint64_t tls_by_kernel = 0;
  std::uint64_t open_connections = 0;
  std::uint64_t total_connections = 0;
  std::uint64_t near_connections = 0;
  std::uint64_t rejected_connections = 0;
  std::uint64_t crowded_connections = 0;
  std::uint64_t starved_connections = 0;
  bool accepting = true;
  std::uint64_t shortages = 0;
  std::uint64_t shortage_us = 0;
};

}  // namespace mxkv::server
