// The order of one connection's requests: decides which of them may run at the same time (protocol rule 56).
//
// A request starts if it conflicts with no request in flight and with none that waits before it. Else it
// waits, in one queue that the caller keeps. Conflicts, by slots to which keys are hashed:
//   a read       with a write of its key
//   a write      with a read of its key, with ranges, and behind any waiting write;
//                not with writes in flight, since those commit in the order sent (CommitOrder)
//   exclusive    with reads and writes of its key, and with ranges
//   a range      with writes and exclusives
//   a barrier    with everything
// A false conflict of two keys in one slot costs a little parallelism, never correctness.
//
// Most connections only read, or only write, for long stretches. After kStreak requests of one of these kinds
// their keys are no longer noted. No request in flight conflicts with them, so they are only counted. The
// first request of another kind that conflicts with some key waits for all of them. From then on keys are
// noted again.
//
// Ranges and barriers that conflict are not queued: their connection takes no more requests until they may
// start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/assert.hpp"
#include "server/reply/reply_address.hpp"

namespace mxkv::server {

/// In-flight counters by slot. All are zero while the table is in the pool.
struct OrderTable {
  static constexpr std::size_t kSlots = 512;
  static constexpr std::uint8_t kMost = 255;
  struct Slot {
    std::uint8_t reads = 0;
    std::uint8_t writes = 0;
  };
  std::array<Slot, kSlots> slots{};
  OrderTable* next = nullptr;
};

/// Tables of one worker. A connection has one only while it has requests with noted keys in flight.
/// Thread-safety: owner worker only.
class OrderTablePool {
 public:
  OrderTablePool() = default;
  ~OrderTablePool();
  OrderTablePool(const OrderTablePool&) = delete;
  OrderTablePool& operator=(const OrderTablePool&) = delete;

  [[nodiscard]] OrderTable* take() {
    if (OrderTable* const table = free_; table != nullptr) [[likely]] {
      free_ = table->next;
      return table;
    }
    return new OrderTable;
  }
  void give(OrderTable* table) noexcept {
    table->next = free_;
    free_ = table;
  }

 private:
  OrderTable* free_ = nullptr;
};

/// A request's claim in the order: its kind and the slot of its key, as kept in ReplyAddress::claim. On a node of
/// a cluster it may carry a mark (begun_changes.hpp), which ConnectionTable takes off.
class OrderClaim {
 public:
  constexpr OrderClaim(operation_kind kind, std::uint64_t key_hash) noexcept
      : value_(static_cast<std::uint16_t>((key_hash % OrderTable::kSlots) << kKindBits |
                                          static_cast<std::uint16_t>(kind))) {}
  constexpr explicit OrderClaim(std::uint16_t stored) noexcept : value_(stored) {}
  /// For a request whose key was not noted.
  [[nodiscard]] static constexpr OrderClaim untracked(operation_kind kind) noexcept {
    return OrderClaim{static_cast<std::uint16_t>(kUntracked << kKindBits | static_cast<unsigned>(kind))};
  }
  /// With a mark: true, so that the operation's end takes the longer way.
  [[nodiscard]] constexpr bool tracked() const noexcept { return slot() != kUntracked; }
  [[nodiscard]] constexpr operation_kind kind() const noexcept {
    return static_cast<operation_kind>(value_ & ((1U << kKindBits) - 1));
  }
  [[nodiscard]] constexpr std::size_t slot() const noexcept { return value_ >> kKindBits; }
  [[nodiscard]] constexpr std::uint16_t stored() const noexcept { return value_; }

  [[nodiscard]] constexpr OrderClaim marked(std::uint16_t mark) const noexcept {
    return OrderClaim{static_cast<std::uint16_t>(value_ | mark << kMarkShift)};
  }
  [[nodiscard]] constexpr OrderClaim unmarked() const noexcept {
    return OrderClaim{static_cast<std::uint16_t>(value_ & ((1U << kMarkShift) - 1))};
  }
  [[nodiscard]] constexpr std::uint16_t mark() const noexcept {
    return static_cast<std::uint16_t>(value_ >> kMarkShift);
  }

 private:
  static constexpr unsigned kKindBits = 3;
  static constexpr unsigned kUntracked = OrderTable::kSlots;
  static constexpr unsigned kMarkShift = 14;
  static_assert(kUntracked < 1U << (kMarkShift - kKindBits), "a mark has bits of its own");
  std::uint16_t value_;
};

/// Thread-safety: owner worker only.
class RequestOrder {
 public:
  explicit RequestOrder(OrderTablePool& pool) noexcept : pool_(&pool) {}
  ~RequestOrder();
  RequestOrder(const RequestOrder&) = delete;
  RequestOrder& operator=(const RequestOrder&) = delete;

  /// After so many requests of one kind in a row it pays not to note their keys.
  static constexpr std::uint32_t kStreak = 32;

  /// Starts a request if it may start; then finish() must follow.
  [[nodiscard]] bool try_start(OrderClaim claim) {
    follow(claim.kind());
    if (conflicts(claim)) [[unlikely]] {
      return false;
    }
    take(claim);
    return true;
  }
  /// Whether reads or writes conflict with nothing for any key: then start_untracked() is enough.
  [[nodiscard]] bool keys_untracked(operation_kind kind) const noexcept { return kind == passing_kind_; }
  /// Starts reads or writes of any keys; finish() must follow for each.
  [[nodiscard]] OrderClaim start_untracked(operation_kind kind, std::size_t requests = 1) noexcept {
    MXKV_DCHECK(keys_untracked(kind), "the key does not matter");
    untracked_ += static_cast<std::uint32_t>(requests);
    return OrderClaim::untracked(kind);
  }
  /// Takes back the start of `requests` untracked requests.
  void take_back(std::size_t requests) noexcept {
    MXKV_ASSERT(untracked_ >= requests, "only what was started is taken back");
    untracked_ -= static_cast<std::uint32_t>(requests);
  }
  /// Ends a started request. Returns whether that may let a waiting one start.
  bool finish(OrderClaim claim) noexcept {
    if (!claim.tracked()) [[likely]] {
      return finish_untracked(claim.kind());
    }
    return finish_tracked(claim);
  }
  /// finish() for `requests` requests of one claim.
  bool finish_row(OrderClaim claim, std::uint32_t requests) noexcept {
    if (claim.tracked()) [[unlikely]] {
      bool freed = false;
      for (; requests > 0; --requests) {
        freed |= finish_tracked(claim);
      }
      return freed;
    }
    MXKV_ASSERT(untracked_ >= requests, "an operation ends once");
    untracked_ -= requests;
    return untracked_ == 0;
  }
  /// finish() for a claim that is not tracked.
  bool finish_untracked([[maybe_unused]] operation_kind kind) noexcept {
    MXKV_ASSERT(untracked_ > 0, "an operation ends once");
    MXKV_DCHECK(kind == untracked_kind_, "an operation ends as what it began");
    return --untracked_ == 0;
  }

  /// Begins a new look at the waiting requests, in their order: each is tried, and added again if it must
  /// wait.
  void begin_pass() noexcept { waiting_ = {}; }
  /// Adds a read, write or exclusive that could not start behind those added before.
  void add_waiting(OrderClaim claim) noexcept;

  [[nodiscard]] std::size_t in_flight() const noexcept { return std::size_t{tracked_} + untracked_; }
  [[nodiscard]] std::size_t ranges_in_flight() const noexcept { return ranges_; }

 private:
  /// Waiting requests: bits by slot, so that a check is one load. A false bit only makes a request wait
  /// longer.
  struct Waiting {
    std::uint64_t reads = 0;
    std::uint64_t changes = 0;  ///< writes and exclusives
    std::size_t writes = 0;
    std::size_t all = 0;
  };
  static std::uint64_t bit(OrderClaim claim) noexcept { return std::uint64_t{1} << (claim.slot() % 64); }
  void follow(operation_kind kind) noexcept;
  [[nodiscard]] bool conflicts(OrderClaim claim) const noexcept;
  void take(OrderClaim claim);
  bool finish_tracked(OrderClaim claim) noexcept;

  OrderTablePool* pool_;
  OrderTable* table_ = nullptr;  ///< null: no keys in flight
  std::uint32_t tracked_ = 0;    ///< in flight: requests with noted keys, ranges and barriers
  std::uint32_t keyed_ = 0;      ///< of these, with a slot
  std::uint32_t changes_ = 0;    ///< writes and exclusives in flight
  std::uint32_t ranges_ = 0;
  bool barrier_ = false;
  operation_kind streak_kind_ = operation_kind::barrier;   ///< of the last request
  operation_kind passing_kind_ = operation_kind::barrier;  ///< its keys are not noted; barrier: all are
  operation_kind untracked_kind_ = operation_kind::read;   ///< of the requests in flight without noted keys
  std::uint32_t streak_ = 0;                               ///< requests of streak_kind_ in a row
  std::uint32_t untracked_ = 0;                            ///< requests in flight, of untracked_kind_
  Waiting waiting_;
};

}  // namespace mxkv::server
