// Shared hold of an object: the readers' side of a reader/writer latch [Mx 4.1]. The writers' side is
// WriteLatch; both live in the version word, so a latched object has versions like any other.
//
// A sharer adds itself by CAS while no writer holds the word. It takes itself off with a release, which the
// writer's CAS acquires. A writer gets in when the last one has left. Held only while a task runs, so there
// are at most as many sharers as workers. Readers do not yield to waiting writers, because tasks are short.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/cache_line.hpp"
#include "runtime/synchronization/optimistic.hpp"

namespace mxkv::runtime {

/// Released by the destructor. Move only. Thread-safety: the task that made it.
class SharedLatch {
 public:
  /// Shares the object; gives up after `tries` looks while a writer holds it or others change its word.
  static SharedLatch acquire(DataObject& object, unsigned tries) noexcept {
    for (unsigned i = 0; i < tries; ++i) {
      std::uint64_t word = object.version().load(std::memory_order_relaxed);
      if ((word & 1U) == 0 &&
          object.version().compare_exchange_weak(word, word + kOneSharer, std::memory_order_acquire,
                                                 std::memory_order_relaxed)) {  // pairs with ~WriteLatch
        return SharedLatch{object, word & (kOneSharer - 1)};
      }
      cpu_relax();
    }
    return SharedLatch{};
  }

  SharedLatch(SharedLatch&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), version_(other.version_) {}
  SharedLatch& operator=(SharedLatch&&) = delete;
  SharedLatch(const SharedLatch&) = delete;
  SharedLatch& operator=(const SharedLatch&) = delete;
  ~SharedLatch() { release_unchanged(); }

  explicit operator bool() const noexcept { return object_ != nullptr; }
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  void release_unchanged() noexcept {
    if (object_ != nullptr) {
      [[maybe_unused]] const std::uint64_t before = object_->version().fetch_sub(
          kOneSharer, std::memory_order_release);  // pairs with WriteLatch::upgrade
      MXKV_ASSERT(before >= kOneSharer && (before & 1U) == 0, "a sharer is counted, and keeps writers out");
      object_ = nullptr;
    }
  }

 private:
  SharedLatch() noexcept = default;
  SharedLatch(DataObject& object, std::uint64_t version) noexcept : object_(&object), version_(version) {}

  DataObject* object_ = nullptr;
  std::uint64_t version_ = 0;
};

}  // namespace mxkv::runtime
