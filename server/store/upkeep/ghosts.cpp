#include "server/store/upkeep/ghosts.hpp"

#include <algorithm>
#include <bit>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

/// The table takes this part of the memory limit at most, as for items of 128 bytes each.
constexpr std::size_t kPartOfLimit = 32;
/// A table has one page at least.
constexpr std::size_t kLeastBytes = 4096;
constexpr unsigned kNone = 64;  ///< no lane
constexpr unsigned kLaneBits = 16;
constexpr std::uint64_t kOfEach = 0x0001'0001'0001'0001U;

std::uint64_t fingerprint_of(std::uint64_t hash) noexcept {
  return std::max<std::uint64_t>(hash >> (64 - kLaneBits), 1);
}

/// The first bit of the first lane with this fingerprint, or kNone.
unsigned lane_of(std::uint64_t word, std::uint64_t fingerprint) noexcept {
  const std::uint64_t differs = word ^ fingerprint * kOfEach;
  const std::uint64_t zero =
      (differs - kOfEach) & ~differs & kOfEach << (kLaneBits - 1);  // exact up to the first
  return zero == 0 ? kNone : static_cast<unsigned>(std::countr_zero(zero)) / kLaneBits * kLaneBits;
}

/// The word without this lane: those above move down, and the last one is `last`.
std::uint64_t without(std::uint64_t word, unsigned lane, std::uint64_t last) noexcept {
  const std::uint64_t below = (std::uint64_t{1} << lane) - 1;
  return (word & below) | (word >> kLaneBits & ~below & ~std::uint64_t{0} >> kLaneBits) |
         last << (64 - kLaneBits);
}

runtime::PageOptions small_pages() {
  runtime::PageOptions options;
  options.huge_pages = runtime::huge_pages_mode::off;
  options.numa_placement = false;
  return options;
}

}  // namespace

std::size_t Ghosts::reserved_bytes(std::size_t limit_bytes) noexcept {
  constexpr std::size_t kMost = std::size_t{1} << 44U;  // of an unlimited budget, which never evicts: nothing
  return limit_bytes > kMost * kPartOfLimit
             ? kLeastBytes
             : std::max(std::bit_floor(2 * limit_bytes / kPartOfLimit), kLeastBytes);
}

Ghosts::Ghosts(runtime::MemoryBudget& budget)
    : budget_(budget),
      range_(reserved_bytes(budget.limit_bytes()), small_pages()),
      table_(static_cast<Bucket*>(range_.take(range_.reserved_bytes(), runtime::NumaNodeId{0}))) {}

Ghosts::~Ghosts() {
  fit(0);
}

void Ghosts::add(std::uint64_t hash) noexcept {
  Bucket* const bucket = bucket_of(hash);
  if (bucket == nullptr) {
    return;
  }
  const std::uint64_t newer = bucket->newer.load();
  const std::uint64_t older = bucket->older.load();
  bucket->older.store(older << kLaneBits | newer >> (64 - kLaneBits));
  bucket->newer.store(newer << kLaneBits | fingerprint_of(hash));
}

bool Ghosts::take(std::uint64_t hash) noexcept {
  Bucket* const bucket = bucket_of(hash);
  if (bucket == nullptr) {
    return false;
  }
  const std::uint64_t fingerprint = fingerprint_of(hash);
  const std::uint64_t newer = bucket->newer.load();
  const std::uint64_t older = bucket->older.load();
  if (const unsigned lane = lane_of(newer, fingerprint); lane != kNone) {
    bucket->newer.store(without(newer, lane, older & 0xFFFFU));
    bucket->older.store(older >> kLaneBits);
    return true;
  }
  if (const unsigned lane = lane_of(older, fingerprint); lane != kNone) {
    bucket->older.store(without(older, lane, 0));
    return true;
  }
  return false;
}

// The table may change its size meanwhile: pages behind it hold nothing.
void Ghosts::clear() noexcept {
  if (any()) {
    range_.discard(table_, bytes());
  }
}

std::uint64_t Ghosts::wanted(std::uint64_t items) const noexcept {
  const std::size_t most =
      std::min(std::bit_floor(budget_.limit_bytes() / kPartOfLimit), range_.reserved_bytes());
  const std::uint64_t bytes = std::bit_ceil(items) * sizeof(std::uint16_t);
  return items == 0 || table_ == nullptr ? 0 : std::min(std::max(bytes, kLeastBytes), most) / sizeof(Bucket);
}

void Ghosts::fit(std::uint64_t items) noexcept {
  const auto size_for = [this, items](std::uint64_t buckets) {
    // Shrinks late, so that no number of items makes it change to and fro.
    return std::max(wanted(items), std::min(buckets, wanted(items + items / 3)));
  };
  const std::uint64_t seen = buckets_.load(std::memory_order_relaxed);
  // Acquire: the number of buckets that the last thread stored. Pairs with the release below.
  if (size_for(seen) == seen || fits_.exchange(true, std::memory_order_acquire)) {
    return;
  }
  const std::uint64_t before = buckets_.load(std::memory_order_relaxed);
  const std::uint64_t after = size_for(before);
  const std::size_t old_bytes = before * sizeof(Bucket);
  const std::size_t new_bytes = after * sizeof(Bucket);
  if (new_bytes < old_bytes) {
    buckets_.store(after, std::memory_order_relaxed);
    // A thread that still uses the old number may take a page again. It is used when the table grows.
    range_.discard(reinterpret_cast<std::byte*>(table_) + new_bytes, old_bytes - new_bytes);
    budget_.refund(runtime::memory_category::ghosts, old_bytes - new_bytes);
  } else if (budget_.try_charge(runtime::memory_category::ghosts, new_bytes - old_bytes)) {
    buckets_.store(after, std::memory_order_relaxed);
  }
  fits_.store(false, std::memory_order_release);
}

}  // namespace mxkv::server
