// The header of a data object (resource), and the tagged pointer that tasks and objects refer to it by.
//
// Header: a version word (odd while a writer holds it; above bit 47 how many readers share it) and a meta
// word {pool, primitive, owner's bits}. The pool in the header is the truth; the pool in a tagged pointer is
// a hint that lets a task be placed without touching the object. [Mx 4.1, 4.3]
//
// An object that adapts may change between the two optimistic primitives, under its latch, at any time.
// Writers that go by the former one are in the wrong place, and safe: under either primitive a writer takes
// the latch from a version. Readers of such an object validate always, also under the lease of its pool,
// since not every writer need be bound. So a change races with nothing but other holders of the latch.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/relaxed_word.hpp"
#include "runtime/resource/primitive.hpp"

namespace mxkv::runtime {

/// First 16 bytes of every object that the runtime synchronises. 64-byte aligned by its allocator.
class DataObject {
 public:
  /// Bits of the meta word that belong to the object's type, from this one up.
  static constexpr unsigned kOwnerMetaShift = 20;

  DataObject(PoolId pool, primitive how) noexcept
      : version_(0), meta_(std::uint64_t{pool.value()} | (static_cast<std::uint64_t>(how) << 16U)) {}

  [[nodiscard]] PoolId pool() const noexcept { return PoolId{static_cast<std::uint16_t>(meta_.load())}; }
  [[nodiscard]] primitive synchronization() const noexcept {
    return static_cast<primitive>((meta_.load() >> 16U) & 7U);
  }

  /// Puts it into another pool. Under the lease of its pool and, unless it is serialized by scheduling, under
  /// its latch.
  void move_to(PoolId pool) noexcept {
    meta_.store_release((meta_.load() & ~std::uint64_t{0xFFFF}) | pool.value());  // pairs with lives_in()
  }
  /// Whether it is in that pool, asked under the pool's lease. Stores made in an earlier pool are visible.
  [[nodiscard]] bool lives_in(PoolId pool) const noexcept {
    return static_cast<std::uint16_t>(meta_.load_acquire()) == pool.value();
  }

  /// Whether its primitive may change while it is in use.
  [[nodiscard]] bool adapts() const noexcept { return (meta_.load() & kAdapts) != 0; }
  /// Before it is published.
  void let_adapt() noexcept { meta_.store(meta_.load() | kAdapts); }
  /// Changes the primitive, from one optimistic to the other, and the pool. Under its latch.
  void turn_to(primitive how, PoolId pool) noexcept {
    MXKV_DCHECK(adapts() && (static_cast<unsigned>(how) & 6U) == 2, "optimistic objects stay so");
    constexpr std::uint64_t kReplaced = 0x7FFFF;
    meta_.store_release((meta_.load() & ~kReplaced) | pool.value() |
                        (static_cast<std::uint64_t>(how) << 16U));  // pairs with lives_in()
  }

  /// The version word; synchronization/ alone changes it.
  [[nodiscard]] std::atomic<std::uint64_t>& version() noexcept { return version_; }
  [[nodiscard]] const std::atomic<std::uint64_t>& version() const noexcept { return version_; }

  /// The meta word. Stores only under the object's latch or before the object is published.
  [[nodiscard]] RelaxedWord& meta() noexcept { return meta_; }
  [[nodiscard]] const RelaxedWord& meta() const noexcept { return meta_; }

 private:
  static constexpr std::uint64_t kAdapts = std::uint64_t{1} << (kOwnerMetaShift - 1);
  std::atomic<std::uint64_t> version_;
  RelaxedWord meta_;
};

static_assert(sizeof(DataObject) == 16);

/// A pointer to a data object with its primitive (bits 0-2), three bits for the object's type (bits 3-5)
/// and the pool hint (bits 48-63). With primitive::none it may hold any address, tagged only above bit 47.
class TaggedPointer {
 public:
  constexpr TaggedPointer() noexcept = default;
  constexpr explicit TaggedPointer(std::uint64_t word) noexcept : word_(word) {}

  /// Refers to `object` as its header says; `marks` (0-7) are the type's own bits.
  TaggedPointer(const DataObject* object, unsigned marks) noexcept
      : word_(reinterpret_cast<std::uint64_t>(object) |
              static_cast<std::uint64_t>(object->synchronization()) | (std::uint64_t{marks} << 3U) |
              (std::uint64_t{object->pool().value()} << 48U)) {
    MXKV_DCHECK(marks <= 7U, "an object's type has three bits");
    MXKV_DCHECK((reinterpret_cast<std::uint64_t>(object) & ~kAddressMask) == 0,
                "data objects are 64-byte aligned");
  }

  /// Memory that needs no synchronisation.
  static TaggedPointer unsynchronized(const void* address) noexcept {
    return TaggedPointer{reinterpret_cast<std::uint64_t>(address)};
  }

  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] constexpr primitive synchronization() const noexcept {
    return static_cast<primitive>(word_ & 7U);
  }
  [[nodiscard]] constexpr unsigned marks() const noexcept {
    return static_cast<unsigned>((word_ >> 3U) & 7U);
  }
  [[nodiscard]] constexpr PoolId pool_hint() const noexcept {
    return PoolId{static_cast<std::uint16_t>(word_ >> 48U)};
  }
  [[nodiscard]] DataObject* object() const noexcept {
    return reinterpret_cast<DataObject*>(word_ & kAddressMask);
  }
  /// The first line of the object, for prefetching.
  [[nodiscard]] const std::byte* first_line() const noexcept {
    return reinterpret_cast<const std::byte*>(word_ & kAddressMask);
  }
  explicit operator bool() const noexcept { return word_ != 0; }
  friend constexpr bool operator==(TaggedPointer, TaggedPointer) noexcept = default;

 private:
  static constexpr std::uint64_t kAddressMask = 0x0000'FFFF'FFFF'FFC0ULL;
  std::uint64_t word_ = 0;
};

static_assert(sizeof(TaggedPointer) == 8);

}  // namespace mxkv::runtime
