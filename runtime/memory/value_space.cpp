#include "runtime/memory/value_space.hpp"

#include <algorithm>
#include <new>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {

namespace {

using detail::Span;
using detail::Superblock;

std::size_t default_reserve_bytes(std::size_t limit_bytes) noexcept {
  // Twice: runs of spans and sparse superblocks use more addresses than memory. Addresses are free.
  constexpr std::size_t kSlackBytes = std::size_t{256} << 20U;
  const std::size_t physical = physical_memory_bytes();
  const std::size_t limit = std::min(limit_bytes, physical == 0 ? limit_bytes : physical);
  return limit > SIZE_MAX / 4 ? std::size_t{1} << 40U : 2 * limit + kSlackBytes;
}

std::size_t reserve_bytes_for(const ValueSpaceOptions& options, const MemoryBudget& budget) {
  return options.reserve_bytes != 0 ? options.reserve_bytes : default_reserve_bytes(budget.limit_bytes());
}

std::size_t table_bytes_for(std::size_t data_bytes) {
  return data_bytes / kSpanBytes * sizeof(Span) + data_bytes / detail::kSuperblockBytes * sizeof(Superblock);
}

PageOptions table_pages() {
  PageOptions pages;
  pages.huge_pages = huge_pages_mode::off;
  pages.numa_placement = false;
  return pages;
}

}  // namespace

std::size_t ValueSpace::default_address_bytes(std::size_t limit_bytes) noexcept {
  const std::size_t data = default_reserve_bytes(limit_bytes);
  return data + table_bytes_for(data) + 2 * kHugePageBytes;  // each begins at a huge page
}

ValueSpace::ValueSpace(MemoryBudget& budget, const ValueSpaceOptions& options)
    : budget_(&budget),
      category_(options.category),
      workers_(options.workers),
      bin_wake_bytes_(options.bin_wake_bytes),
      left_to_others_(options.left_to_others),
      range_(reserve_bytes_for(options, budget), options.pages),
      table_range_(table_bytes_for(range_.reserved_bytes()), table_pages()) {
  const std::size_t spans = range_.reserved_bytes() / kSpanBytes;
  void* const tables = table_range_.take(table_range_.reserved_bytes(), NumaNodeId{});
  if (tables == nullptr) {
    throw std::bad_alloc();
  }
  tables_.data = range_.base();
  tables_.spans = static_cast<Span*>(tables);
  tables_.superblocks = reinterpret_cast<Superblock*>(static_cast<std::byte*>(tables) + spans * sizeof(Span));
  for (std::size_t node = 0; node < range_.node_count(); ++node) {
    pools_.emplace_back(range_, tables_, NumaNodeId(static_cast<NumaNodeId::rep>(node)));
  }
}

ValueSpace::~ValueSpace() {
  budget_->refund(category_, span_bytes());
}

detail::SuperblockPool& ValueSpace::pool_of(const Span* span) noexcept {
  MXKV_ASSERT(span->span_count != 0, "the span is in use");
  return pool(node_of(span->base));
}

std::size_t ValueSpace::left_to_others() const noexcept {
  const std::size_t taken = budget_->category_bytes(memory_category::output) +
                            budget_->category_bytes(memory_category::buffers) +
                            budget_->category_bytes(memory_category::tasks);
  return left_to_others_ - std::min(taken, left_to_others_ / 4 * 3);
}

std::size_t ValueSpace::span_bytes() const noexcept {
  std::size_t sum = 0;
  for (const auto& pool : pools_) {
    sum += pool.span_bytes();
  }
  return sum;
}

std::size_t ValueSpace::pooled_bytes() const noexcept {
  std::size_t sum = 0;
  for (const auto& pool : pools_) {
    sum += pool.pooled_bytes();
  }
  return sum;
}

}  // namespace mxkv::runtime
