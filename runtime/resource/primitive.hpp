// How accesses to a data object are synchronised, and the annotations that the choice follows from
// [Mx 4.2]. Plain data; the choice itself is select_primitive(), a pure table.
#pragma once

#include <cstdint>
#include <string_view>

namespace mxkv::runtime {

/// Synchronisation primitive of one data object. The two that may bind a task to the object's pool are odd.
enum class primitive : std::uint8_t {
  none = 0,                      ///< the object never changes, or one task ever sees it
  serialized_by_scheduling = 1,  ///< every access runs in the object's pool
  optimistic_latch = 2,          ///< readers validate a version; writers take the latch where they are
  optimistic_scheduling = 3,     ///< readers validate a version; writers run in the object's pool
  spin_latch = 4,                ///< one task at a time, where it was spawned; a bounded number of tries
  reader_writer_latch = 6,       ///< readers share a latch, writers hold it alone; a bounded number of tries
};

/// The word for a primitive, as flags and configurations write it. Thread-safety: any thread.
[[nodiscard]] std::string_view primitive_name(primitive how) noexcept;

/// Whether tasks may access the object at the same time.
enum class isolation : std::uint8_t {
  none,       ///< no guarantee wanted
  shared,     ///< readers in parallel, writers alone
  exclusive,  ///< one task at a time
};

/// Assumed mix of accesses.
enum class rw_ratio : std::uint8_t { read_heavy, balanced, write_heavy };

/// Assumed number of accesses.
enum class access_frequency : std::uint8_t { low, moderate, high };

/// The primitive that fits the annotations best. Never a latch that readers take, which [Mx 4.2] measured to
/// be slower; those are for an explicit choice. Pure; thread-safety: any thread.
[[nodiscard]] primitive select_primitive(isolation isolation_level, rw_ratio ratio,
                                         access_frequency frequency) noexcept;

}  // namespace mxkv::runtime
