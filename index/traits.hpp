// The differences between the two kinds of tree: 64-bit keys that sit in the node, and byte keys whose heads do.
//
// A traits type gives
//   Key                     how a key is passed around
//   kExact                  equal heads prove equal keys
//   Shape                   the node's shape
//   kLatchedNodes           every node begins as an optimistic latch; leaves may adapt. Tasks on such a tree are compiled
//                           without the cases of other primitives
//   head(key, prefix)       the word that is compared inside the node
//   order(key, fence word)  three-way order of a key and a fence or separator
//   fence operations        make, copy and free the word that stands for a key in a fence
//   record operations       (byte keys) key and release of the record that a leaf's value word refers to
//   teardown_begins(Worker&), teardown_ends(Worker&)  called before and after a part of a cleared tree is taken apart
#pragma once

#include <compare>
#include <cstdint>

#include "index/key.hpp"
#include "index/node.hpp"
#include "index/separator.hpp"
#include "runtime/scheduler/worker.hpp"

namespace mxkv::index {

/// 64-bit keys with 64-bit payloads.
template <class NodeShapeT = NodeShape<6, 6, 8, false>>
struct IntegerTraits {
  using Key = std::uint64_t;
  using Shape = NodeShapeT;
  static constexpr bool kExact = true;
  static constexpr bool kLatchedNodes = false;

  static std::uint64_t head(Key key, std::size_t /*prefix*/) noexcept { return key; }
  static std::strong_ordering order(Key key, std::uint64_t fence) noexcept { return key <=> fence; }
  static Key fence_key(std::uint64_t fence) noexcept { return fence; }

  static bool make_fence(runtime::Worker& /*worker*/, Key key, std::uint64_t& out) noexcept {
    out = key;
    return true;
  }
  static void free_fence(runtime::Worker& /*worker*/, std::uint64_t /*fence*/) noexcept {}
  static void release_record(runtime::Worker& /*worker*/, std::uint64_t /*value*/) noexcept {}
  static void teardown_begins(runtime::Worker& /*worker*/) noexcept {}
  static void teardown_ends(runtime::Worker& /*worker*/) noexcept {}
};

/// Byte keys. `Record` describes the record that a leaf's value word refers to:
///   static KeyView key(std::uint64_t value);  static void release(runtime::Worker&, std::uint64_t value);
///   static unsigned lines(std::uint64_t value);  const void* address(std::uint64_t value);
///   static unsigned key_lines(std::uint64_t value, std::size_t key_bytes);  lines up to the key's end; for RowPut
///   static void teardown_begins(runtime::Worker&), teardown_ends(runtime::Worker&);  both may be missing
template <class RecordT, class NodeShapeT = NodeShape<6, 4, 8, true>>
struct ByteTraits {
  using Key = KeyView;
  using Shape = NodeShapeT;
  using Record = RecordT;
  static constexpr bool kExact = false;
  static constexpr bool kLatchedNodes = false;

  [[gnu::always_inline]] static std::uint64_t head(Key key, std::size_t prefix) noexcept {
    return head_of(key, prefix);
  }
  static std::strong_ordering order(Key key, std::uint64_t fence) noexcept {
    return key.compare(SeparatorRecord::key_of(fence)) <=> 0;
  }
  static Key fence_key(std::uint64_t fence) noexcept { return SeparatorRecord::key_of(fence); }

  /// False: out of memory.
  static bool make_fence(runtime::Worker& worker, Key key, std::uint64_t& out) noexcept {
    void* memory = worker.nodes().allocate(SeparatorRecord::bytes_for(key));
    if (memory == nullptr) {
      return false;
    }
    out = reinterpret_cast<std::uint64_t>(SeparatorRecord::construct(memory, key));
    return true;
  }
  /// Frees a fence that no reader can see.
  static void free_fence(runtime::Worker& worker, std::uint64_t fence) noexcept {
    if (fence != 0) {
      worker.nodes().release(reinterpret_cast<void*>(fence));
    }
  }
  static void release_record(runtime::Worker& worker, std::uint64_t value) noexcept {
    Record::release(worker, value);
  }
  static void teardown_begins(runtime::Worker& worker) noexcept {
    if constexpr (requires { Record::teardown_begins(worker); }) {
      Record::teardown_begins(worker);
    }
  }
  static void teardown_ends(runtime::Worker& worker) noexcept {
    if constexpr (requires { Record::teardown_ends(worker); }) {
      Record::teardown_ends(worker);
    }
  }
};

}  // namespace mxkv::index
