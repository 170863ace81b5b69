// How many pages of address ranges are in memory, and how many of them are huge, by the system's accounting
// (/proc/self/smaps).
//
// The system walks its page tables for an answer. That takes about 0.1 ms a GiB of huge pages, and 10 ms a GiB of small
// ones. So a census is taken rarely: it may use a hundredth of the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/base/clock.hpp"

namespace mxkv::runtime {

/// A range of addresses, and the bytes of it that are in memory.
struct PageCount {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;  ///< of addresses
  std::uint64_t resident_bytes = 0;
  std::uint64_t huge_bytes = 0;  ///< the part of resident_bytes that lies in huge pages
};

/// Adds to `counts` what a text in the form of /proc/self/smaps says of their mappings. A mapping counts where it begins.
void add_mappings(std::FILE* smaps, std::span<PageCount> counts);

/// Thread-safety: any thread.
class PageCensus {
 public:
  /// Fills in the bytes of `counts`: the result of the last census while the next one is not due yet, and 0 where the
  /// system does not tell. All calls give the same ranges.
  void take(const Clock& clock, std::span<PageCount> counts);

  static constexpr std::uint64_t kPause = 100;  ///< times the duration of the last census

 private:
  std::mutex mutex_;  ///< guards all
  std::uint64_t due_ns_ = 0;
  std::vector<PageCount> last_;
};

}  // namespace mxkv::runtime
