// Memory of one asynchronous wait, so that waiting again and again allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <new>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// Holds one operation at a time; a second or a larger one is allocated from the heap.
/// Thread-safety: owner worker only.
class HandlerMemory {
 public:
  [[nodiscard]] void* allocate(std::size_t bytes) {
    if (!used_ && bytes <= room_.size()) [[likely]] {
      used_ = true;
      return room_.data();
    }
    return ::operator new(bytes);
  }
  void release(void* address) noexcept {
    if (address == room_.data()) [[likely]] {
      MXKV_ASSERT(used_, "room is released once");
      used_ = false;
    } else {
      ::operator delete(address);
    }
  }

 private:
  alignas(std::max_align_t) std::array<std::byte, 192> room_;
  bool used_ = false;
};

/// The allocator through which Asio uses that memory.
template <class T>
class HandlerAllocator {
 public:
  using value_type = T;
  explicit HandlerAllocator(HandlerMemory& memory) noexcept : memory_(&memory) {}
  template <class U>
  explicit HandlerAllocator(const HandlerAllocator<U>& other) noexcept : memory_(other.memory_) {}

  [[nodiscard]] T* allocate(std::size_t n) { return static_cast<T*>(memory_->allocate(n * sizeof(T))); }
  void deallocate(T* address, std::size_t /*n*/) noexcept { memory_->release(address); }
  friend bool operator==(const HandlerAllocator& a, const HandlerAllocator& b) noexcept {
    return a.memory_ == b.memory_;
  }

 private:
  template <class U>
  friend class HandlerAllocator;
  HandlerMemory* memory_;
};

/// A handler that keeps its operation in `memory`.
template <class Function>
struct InPlaceHandler {
  using allocator_type = HandlerAllocator<std::byte>;
  HandlerMemory* memory;
  Function function;

  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type{*memory}; }
  template <class Error>
  void operator()(const Error& error) {
    function(error);
  }
};
template <class Function>
InPlaceHandler(HandlerMemory*, Function) -> InPlaceHandler<Function>;

}  // namespace mxkv::server
