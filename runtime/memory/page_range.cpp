#include "runtime/memory/page_range.hpp"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/memory/poison.hpp"

namespace mxkv::runtime {

namespace {

constexpr std::size_t kMaxOsNodes = 1024;  // the kernel's own limit on x86-64 and arm64
constexpr std::size_t kBitsPerWord = sizeof(unsigned long) * CHAR_BIT;

std::size_t round_up_to_huge(std::size_t bytes) noexcept {
  return (bytes + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
}

}  // namespace

PageRange::PageRange(std::size_t bytes, PageOptions options)
    : options_(std::move(options)),
      reserved_bytes_(round_up_to_huge(bytes)),
      mapping_bytes_(reserved_bytes_ + kHugePageBytes) {
  // PROT_NONE and NORESERVE: a reservation must not count against the system's commit limit.
  void* mapping =
      mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw std::system_error(
        errno, std::generic_category(),
        "reserving " + std::to_string(mapping_bytes_ >> 20U) + " MiB of address space for memory arenas");
  }
  if (!options_.in_core) {
    madvise(mapping, mapping_bytes_, MADV_DONTDUMP);
  }
  mapping_ = static_cast<std::byte*>(mapping);
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  base_ = mapping_ + (round_up_to_huge(address) - address);
}

PageRange::~PageRange() {
  // The next owner of these addresses must not inherit our poison.
  detail::unpoison(base_, taken_bytes());
  munmap(mapping_, mapping_bytes_);
}

bool PageRange::contains(const void* address) const noexcept {
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base_);
  return offset < reserved_bytes_;
}

bool PageRange::bind(std::byte* start, std::size_t bytes, NumaNodeId node) const noexcept {
  MXKV_ASSERT(node.index() < options_.os_nodes.size(), "an arena goes to a node that exists");
  const std::uint32_t os_node = options_.os_nodes[node.index()];
  if (os_node >= kMaxOsNodes) {
    return false;
  }
  std::array<unsigned long, kMaxOsNodes / kBitsPerWord> mask{};
  mask[os_node / kBitsPerWord] = 1UL << (os_node % kBitsPerWord);
  // Preferred, not bound: a full node must mean slower memory, not a killed process.
  return syscall(SYS_mbind, start, bytes, MPOL_PREFERRED, mask.data(), kMaxOsNodes + 1, 0U) == 0;
}

void* PageRange::take(std::size_t bytes, NumaNodeId node) noexcept {
  MXKV_ASSERT(node.index() < node_count(), "an arena is asked for on a node that exists");
  if (bytes == 0 || bytes > reserved_bytes_) {
    return nullptr;
  }
  bytes = round_up_to_huge(bytes);
  std::size_t offset = taken_bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > reserved_bytes_ - offset) {
      return nullptr;
    }
  } while (!taken_bytes_.compare_exchange_weak(offset, offset + bytes, std::memory_order_relaxed));
  std::byte* const start = base_ + offset;
  if (mprotect(start, bytes, PROT_READ | PROT_WRITE) != 0) {
    return nullptr;  // the piece is lost, which only shortens the reservation
  }
  madvise(start, bytes,
          options_.huge_pages == huge_pages_mode::transparent ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  if (options_.shares != nullptr) {
    node = options_.shares->charge(node, bytes);
  }
  if (options_.numa_placement && !options_.os_nodes.empty() && !bind(start, bytes, node)) {
    unbound_arenas_.fetch_add(1, std::memory_order_relaxed);
  }
  return start;
}

void PageRange::discard(void* start, std::size_t bytes) noexcept {
  MXKV_ASSERT(contains(start), "only pages of this range are given back");
  MXKV_ASSERT(static_cast<std::byte*>(start) + bytes <= base_ + taken_bytes(), "and only of arenas");
  madvise(start, bytes, MADV_DONTNEED);
}

std::size_t physical_memory_bytes() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes)
                                     : 0;
}

}  // namespace mxkv::runtime
