// A reserved range of virtual addresses, handed out in 2 MiB aligned arenas that are bound to NUMA nodes.
//
// One contiguous range an allocator: "which span is this block in" is a subtraction and a shift. Metadata can
// be dense tables beside the data. Reserving costs no memory; a page costs memory when it is first written.
// This is the only file that calls mmap, mprotect, madvise and mbind ([Mx 5.2] global heap, [LAS 5.2]
// superblock allocator's source).
//
// It does not take arenas back: allocators keep them, and give pages back to the system with discard().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/ids.hpp"
#include "runtime/memory/node_shares.hpp"
#include "runtime/options.hpp"

namespace mxkv::runtime {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;

/// How the pages of a range are backed and placed.
struct PageOptions {
  huge_pages_mode huge_pages = huge_pages_mode::transparent;
  bool numa_placement = true;           ///< prefer the arena's node; false: first touch decides
  bool in_core = false;                 ///< a core dump has these pages
  std::vector<std::uint32_t> os_nodes;  ///< the system's number of NumaNodeId i; empty: one node, never bound
  std::shared_ptr<NodeShares> shares;   ///< of the nodes, common to all ranges; null: as the workers are
};

/// A reservation and its bump cursor. Thread-safety: any thread, except construction and destruction.
class PageRange {
 public:
  /// Reserves `bytes`, rounded up to 2 MiB. Throws std::system_error when the address space is refused.
  PageRange(std::size_t bytes, PageOptions options);
  ~PageRange();
  PageRange(const PageRange&) = delete;
  PageRange& operator=(const PageRange&) = delete;

  /// An arena of zero bytes, `bytes` rounded up to 2 MiB, preferably on `node`; nullptr when the range is
  /// used up or the system refuses. The advice (huge pages, node) is best effort: without it memory works as
  /// well.
  [[nodiscard]] void* take(std::size_t bytes, NumaNodeId node) noexcept;

  /// Gives the pages back to the system: they read as zero afterwards. `start` and `bytes` are page multiples
  /// inside an arena that was taken.
  void discard(void* start, std::size_t bytes) noexcept;

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return reserved_bytes_; }
  /// Bytes of all arenas taken: an upper bound of the resident ones.
  [[nodiscard]] std::size_t taken_bytes() const noexcept {
    return taken_bytes_.load(std::memory_order_relaxed);
  }
  /// Arenas that the system did not want to bind to their node.
  [[nodiscard]] std::size_t unbound_arenas() const noexcept {
    return unbound_arenas_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t node_count() const noexcept {
    return options_.os_nodes.empty() ? 1 : options_.os_nodes.size();
  }
  [[nodiscard]] bool contains(const void* address) const noexcept;

 private:
  bool bind(std::byte* start, std::size_t bytes, NumaNodeId node) const noexcept;

  PageOptions options_;
  std::size_t reserved_bytes_;
  std::byte* mapping_ = nullptr;  ///< for munmap: base_ less the alignment slack
  std::size_t mapping_bytes_;
  std::byte* base_ = nullptr;
  // Relaxed: the number alone assigns a piece to one caller; its contents come zeroed from the system.
  std::atomic<std::size_t> taken_bytes_{0};
  std::atomic<std::size_t> unbound_arenas_{0};
};

/// Bytes of physical memory of this machine, without container limits.
[[nodiscard]] std::size_t physical_memory_bytes() noexcept;

}  // namespace mxkv::runtime
