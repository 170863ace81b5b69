// A 64-bit word that an optimistic reader may load while a writer stores it.
//
// Every word of a node that is read under optimistic latching is one of these. The accesses are relaxed
// atomics (plain moves on x86-64 and arm64). So a race is legal C++, and the version check decides whether
// the value counts. Ordering comes from the version protocol in synchronization/, not from here, save for the
// one word that says in which pool an object is.
#pragma once

#include <atomic>
#include <cstdint>

namespace mxkv::runtime {

/// Thread-safety: any thread; each access is one atomic operation, relaxed unless its name says otherwise.
class RelaxedWord {
 public:
  RelaxedWord() noexcept = default;
  explicit RelaxedWord(std::uint64_t value) noexcept : word_(value) {}
  RelaxedWord(const RelaxedWord&) = delete;
  RelaxedWord& operator=(const RelaxedWord&) = delete;

  [[nodiscard]] std::uint64_t load() const noexcept { return word_.load(std::memory_order_relaxed); }
  void store(std::uint64_t value) noexcept { word_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t load_acquire() const noexcept { return word_.load(std::memory_order_acquire); }
  void store_release(std::uint64_t value) noexcept { word_.store(value, std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> word_;
};

static_assert(sizeof(RelaxedWord) == 8 && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace mxkv::runtime
