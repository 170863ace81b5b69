// Counts the rare branches that a build of tests takes: MXKV_PATH(name) counts one. In all other builds it is
// nothing.
//
// A simulation that never takes a branch proves nothing about it, and passes all the same. So branches that
// matter are named here, and tests demand that each of them ran.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#ifdef MXKV_COUNT_PATHS
#define MXKV_PATH(name) ::mxkv::runtime::paths::count(::mxkv::runtime::path::name)
#else
#define MXKV_PATH(name) static_cast<void>(0)
#endif

// clang-format off
#define MXKV_ALL_PATHS(X)                                                                                     \
  /* a task takes the fast path: at a node's header, at its block, at the target, under its latch */          \
  X(fast_header) X(fast_near_node) X(fast_block) X(fast_target) X(fast_insert) X(fast_beside) X(fast_commit)  \
  X(fast_leave) X(fast_wait) X(fast_refuse) X(fast_still_there) X(fast_conflict) X(fast_left)                 \
  X(fast_one_hop) X(fast_at_once) X(fast_anew) X(fast_right) X(fast_new_block)                                \
  /* or guarded execution */                                                                                  \
  X(guarded_read) X(guarded_write) X(guarded_busy) X(guarded_conflict) X(guarded_wait) X(guarded_refuse)      \
  /* how a node takes in an entry */                                                                          \
  X(insert_fits) X(insert_beside) X(insert_block) X(insert_spread) X(insert_split) X(split_leaf)              \
  X(split_inner) X(split_above_inner) X(split_by_blocks) X(grow_root) X(grow_root_above_inner)                \
  X(no_memory_to_split) X(split_in_order)                                                                     \
  /* or what its leaf gives to its right neighbour */                                                         \
  X(overflow_share) X(overflow_three) X(overflow_lost) X(overflow_no_room) X(overflow_not_below_one)          \
  X(overflow_beyond_prefix) X(overflow_whole_keys) X(overflow_shorter_prefix) X(overflow_of_claimed)          \
  /* a thinned leaf gives its entries to one or two neighbours, or cannot */                                  \
  X(merge_into_one) X(merge_into_two) X(merge_lost) X(merge_not_below_one) X(merge_too_full) X(merge_at_fence) \
  X(merge_no_memory)                                                 \
  /* what becomes of a separator */                                                                           \
  X(separator_posted) X(separator_lost) X(separator_retried) X(separator_of_cleared)       \
  /* how a node goes */                                                                                       \
  X(unlink_look) X(unlink_freeze) X(unlink_not_thin) X(unlink_drop) X(unlink_first_child) X(unlink_absorb)    \
  X(unlink_leaf) X(unlink_inner) X(unlink_no_room) X(unlink_leave) X(unlink_undone) X(unlink_of_cleared)      \
  X(unlink_no_room_at_first) X(unlink_handed_on) X(unlink_handed_on_frozen) X(unlink_taken_back)              \
  X(unlink_resumed) X(unlink_again) X(split_of_claimed) X(unlink_of_overflowed)                               \
  /* who waits for a node on its way out */                                                                   \
  X(wait_of_write) X(wait_of_separator) X(wait_of_drop) X(wait_of_absorb)                                  \
  /* or has waited while the tree was cleared */                                                              \
  X(waited_over_clear)                                                                                        \
  /* a set of what came whole, and its usual end */                                                           \
  X(write_whole) X(write_stored) X(write_stored_rarer)                                                               \
  /* sets that start together are stored in a row, which ends before one of them */                            \
  X(write_row) X(row_put_inserts) X(row_put_again) X(row_put_stops) X(row_put_refused)                        \
  /* how a write of the store waits */                                                                        \
  X(write_not_its_turn) X(write_at_gate) X(write_without_memory) X(write_derived_without_memory)                \
  X(write_lets_go)                                                                                            \
  /* a quota is full, walked over, or kept from the need of others */                                         \
  X(write_over_quota) X(quota_census) X(quota_walk) X(quota_skips_inner) X(eviction_keeps)                    \
  /* items of a leaf are evicted; one is not there any more, or an operation holds its key */                 \
  X(evict_of_leaf) X(evict_missed) X(evict_held)                                                              \
  /* how often an evicted item was read, and one that comes back */                                           \
  X(evicted_unread) X(evicted_once_read) X(evicted_twice_read) X(evicted_often_read) X(ghost_returned)        \
  /* what a turn in place comes to */                                                                         \
  X(turn_of_another_class) X(turn_astray) X(turn_at_once) X(turn_leaves)                                      \
  /* gets start together; one meets what is usual */                                                          \
  X(get_together) X(get_row) X(get_usual) X(get_early) X(meta_get_usual) X(meta_get_rarer) X(meta_get_handed_on)                      \
  /* a scan that goes on behind the part of a leaf that it copied, what it passes over, and the loop for usual entries */          \
  X(scan_cut) X(scan_skips_visited) X(scan_plain_run)                                                         \
  /* a large range is divided between workers, or cannot be */                                               \
  X(range_divided) X(range_undivided) X(range_part_away) X(range_given_up)                                    \
  /* a leaf changes its primitive, and its parent is told; a write asks whether it may go to a pool */          \
  X(leaf_turned) X(leaf_told) X(write_stays_home)                                                             \
  /* pages of a dump are made side by side, and one has no room for its part */                              \
  X(dump_pages_sent) X(dump_page_full)                                                                        \
  /* a worker's buffer is full */                                                                             \
  X(buffer_full_for_high)                                                                                     \
  /* an operation leaves out buckets between its first and its last; who takes a slot is not the bucket's host */ \
  X(toggle_leaves_out) X(toggle_slot_stolen)                                                                  \
  /* who holds keys is at work on another worker than its connection's, and writes its page there */ \
  X(held_away) X(page_away) \
  /* a row of replies goes to the output, or is staged */ \
  X(row_next) X(row_early)
// clang-format on

namespace mxkv::runtime {

#define MXKV_PATH_NAME(name) name,
enum class path : std::uint8_t { MXKV_ALL_PATHS(MXKV_PATH_NAME) };
#undef MXKV_PATH_NAME

namespace paths {

#define MXKV_PATH_NAME(name) std::string_view{#name},
inline constexpr std::array kNames{MXKV_ALL_PATHS(MXKV_PATH_NAME)};
#undef MXKV_PATH_NAME

using Counts = std::array<std::uint64_t, kNames.size()>;

#ifdef MXKV_COUNT_PATHS
inline constexpr bool kCounted = true;
/// Of the calling thread: simulations have one.
inline constinit thread_local Counts counts{};

inline void count(path which) noexcept {
  ++counts[static_cast<std::size_t>(which)];
}
/// Of the calling thread, since it began.
[[nodiscard]] inline Counts all() noexcept {
  return counts;
}
#else
inline constexpr bool kCounted = false;
[[nodiscard]] inline Counts all() noexcept {
  return {};
}
#endif

}  // namespace paths
}  // namespace mxkv::runtime
