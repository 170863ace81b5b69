// Counters of the network side: one set for each worker, and connection counts, which all workers share.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/cache_line.hpp"

namespace mxkv::server {

/// Relaxed, one writer each: statistics. Thread-safety: written by the owner worker, read by any thread.
struct alignas(runtime::kCacheLineBytes) NetCounters {
  std::atomic<std::uint64_t> read_bytes{0};
  std::atomic<std::uint64_t> written_bytes{0};
  std::atomic<std::uint64_t> yields{0};       ///< a connection used up its share of a turn
  std::atomic<std::uint64_t> taken_in{0};     ///< connections that came from another worker
  std::atomic<std::uint64_t> stalled{0};      ///< closed, because the client read no replies
  std::atomic<std::uint64_t> idle_closed{0};  ///< closed by the idle time-out
  std::atomic<std::uint64_t> output_full{
      0};                                    ///< closed, because unread replies used up their share of memory
  std::atomic<std::uint64_t> input_full{0};  ///< closed, because unfinished input used up its share
  std::atomic<std::uint64_t> journal_pauses{0};  ///< the journal was full, so a connection was not read
  std::atomic<std::uint64_t> journal_closed{0};  ///< closed: the disk did not confirm their replies, or the
                                                 ///< journal had no room
  std::atomic<std::uint64_t> rate_pauses{0};     ///< a connection used up its rate, so it was not read
  std::atomic<std::uint64_t> held{0};            ///< connections whose output waits for the disk now
  std::atomic<std::uint64_t> handshakes{0};      ///< TLS handshakes that succeeded
  std::atomic<std::uint64_t> handshake_errors{0};
  std::atomic<std::uint64_t> tls_by_kernel{0};  ///< connections for which the kernel encrypts

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

/// Connections of all workers. Relaxed: limits and statistics; they order no other memory. Any thread.
struct ConnectionCounters {
  std::atomic<std::uint64_t> open{0};      ///< handed over to a worker and not yet closed
  std::atomic<std::uint64_t> by_tls{0};    ///< open, with a finished TLS handshake
  std::atomic<std::uint64_t> total{0};     ///< ever accepted
  std::atomic<std::uint64_t> rejected{0};  ///< over the limit
  std::atomic<std::uint64_t> crowded{0};   ///< rejected by the limit of one address
  std::atomic<std::uint64_t> starved{0};   ///< refused for lack of a descriptor

  std::atomic<std::uint64_t> near{0};  ///< given to a worker of the node on which their packets arrive

  // See descriptor_shortage.hpp.
  std::atomic<bool> accepting{true};
  std::atomic<std::uint64_t> shortages{0};    ///< how often there was no descriptor left
  std::atomic<std::uint64_t> shortage_us{0};  ///< their total time, without the current one
};

/// Sums over all workers, at some recent moment.
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
