// Optimistic versioning that is legal C++: the version word, its read side and its write side.
//
// Reader: v = version (acquire), odd means a writer; relaxed loads of the object's words; then an acquire
// fence and the version again. Equal: the words belong together. The fence pairs with the writer's release
// fence. A reader that saw a word stored under the latch also sees the odd version, or a later one. Writer:
// CAS to odd (acquire); release fence; relaxed stores; version + 2 (release). [Mx 4.1]; these are the memory
// orders of a seqlock after Boehm.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/resource/data_object.hpp"

namespace mxkv::runtime {

/// One optimistic read in progress. Thread-safety: owner only; the object may change under it.
class OptimisticRead {
 public:
  /// Starts at the object's present version. `consistent()` is false if a writer holds the object.
  explicit OptimisticRead(const DataObject& object) noexcept
      : object_(&object),
        version_(object.version().load(std::memory_order_acquire)) {}  // pairs with ~WriteLatch

  /// Goes on with a read that an earlier stage validated at `version`.
  OptimisticRead(const DataObject& object, std::uint64_t version) noexcept
      : object_(&object), version_(version) {}

  [[nodiscard]] bool locked() const noexcept { return (version_ & 1U) != 0; }
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  /// Whether everything loaded so far belongs to `version()`. Must be asked before a loaded pointer is
  /// dereferenced and before any effect.
  [[nodiscard, gnu::always_inline]] bool valid() const noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the release fence in WriteLatch
    return object_->version().load(std::memory_order_relaxed) == version_;
  }

 private:
  const DataObject* object_;
  std::uint64_t version_;
};

/// Readers that share an object under a latch are counted in the version word from this bit on.
inline constexpr unsigned kSharersShift = 48;
inline constexpr std::uint64_t kOneSharer = std::uint64_t{1} << kSharersShift;
/// Bits of the version word that keep a writer from taking it.
inline constexpr std::uint64_t kHeldBits = ~(kOneSharer - 1) | 1U;

/// Exclusive hold of an object; released by the destructor. Move only.
class [[nodiscard]] WriteLatch {
 public:
  /// Takes the latch if the object is still at `version` (even). Empty if not: the caller reads again.
  static WriteLatch upgrade(DataObject& object, std::uint64_t version) noexcept {
    MXKV_DCHECK((version & 1U) == 0, "upgrade from a version that a writer held");
    std::uint64_t expected = version;
    // Pairs with ~WriteLatch, and is ordered with WriteGate::all_open(); on x86 no more than an acquire costs.
    if (!object.version().compare_exchange_strong(expected, version | 1U, std::memory_order_seq_cst,
                                                  std::memory_order_relaxed)) {
      return WriteLatch{};
    }
    std::atomic_thread_fence(std::memory_order_release);  // pairs with OptimisticRead::valid
    return WriteLatch{object, version};
  }

  /// Holds nothing.
  static WriteLatch none() noexcept { return WriteLatch{}; }

  /// As upgrade(), for a latch that holds nothing. Returns whether it does now.
  [[nodiscard]] bool take_from(DataObject& object, std::uint64_t version) noexcept {
    MXKV_DCHECK(object_ == nullptr, "a latch holds one object");
    WriteLatch taken = upgrade(object, version);
    version_ = version;
    object_ = std::exchange(taken.object_, nullptr);
    return object_ != nullptr;
  }

  /// Takes the latch at whatever version the object has; gives up after `tries` looks at a held or shared
  /// one.
  static WriteLatch acquire(DataObject& object, unsigned tries) noexcept {
    for (unsigned i = 0; i < tries; ++i) {
      const std::uint64_t version = object.version().load(std::memory_order_relaxed);
      if ((version & kHeldBits) == 0) {
        if (WriteLatch latch = upgrade(object, version)) {
          return latch;
        }
      }
      cpu_relax();
    }
    return WriteLatch{};
  }

  WriteLatch(WriteLatch&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), version_(other.version_) {}
  WriteLatch& operator=(WriteLatch&&) = delete;
  WriteLatch(const WriteLatch&) = delete;
  WriteLatch& operator=(const WriteLatch&) = delete;
  ~WriteLatch() { release(); }

  explicit operator bool() const noexcept { return object_ != nullptr; }

  /// The version at which the latch was taken. The object's word is one more while it is held.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  /// Releases without a new version: nothing was stored.
  void release_unchanged() noexcept {
    if (object_ != nullptr) {
      MXKV_DCHECK(holds(), "nobody changes the version of a held object");
      object_->version().store(version_, std::memory_order_release);  // pairs with upgrade
      object_ = nullptr;
    }
  }

  /// Releases early; the object's new version is the one taken + 2.
  void release() noexcept {
    if (object_ != nullptr) {
      MXKV_DCHECK(holds(), "nobody changes the version of a held object");
      object_->version().store(version_ + 2,
                               std::memory_order_release);  // pairs with OptimisticRead, upgrade
      object_ = nullptr;
    }
  }

 private:
  [[nodiscard]] bool holds() const noexcept {
    return object_->version().load(std::memory_order_relaxed) == (version_ | 1U);
  }
  WriteLatch() noexcept = default;
  WriteLatch(DataObject& object, std::uint64_t version) noexcept : object_(&object), version_(version) {}

  DataObject* object_ = nullptr;
  std::uint64_t version_ = 0;
};

}  // namespace mxkv::runtime
