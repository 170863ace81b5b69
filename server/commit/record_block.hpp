// A block of records in memory, on its way from the worker that recorded them to the disk and back.
//
//   chunk, 256 KiB: [RecordChunk][RecordBlock][header][records ...][RecordBlock][header][records ...] ...
//
// Blocks of several epochs share a chunk, so that an epoch of two records does not take a chunk for itself.
// Only the worker counts the blocks of its chunk that are still under way. Header and records go to the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "server/commit/record_format.hpp"

namespace mxkv::server {

/// The functions for an owner of values apart.
struct ApartClass {
  /// Appends the pieces of the value, in order. The writer's thread, several times. The pieces stay in place
  /// until release().
  void (*pieces)(const void* owner, std::vector<std::string_view>& to);
  /// Drops the reference that came with the value. On the thread of the worker that recorded it; `context` is
  /// the context of that worker's buffer.
  void (*release)(const void* owner, void* context) noexcept;
};

/// A value that is not copied into its record, with one reference on the owner of its bytes.
struct ApartValue {
  const void* owner = nullptr;  ///< null: there is none
  const ApartClass* of = nullptr;
  std::uint64_t bytes = 0;
};

/// The head of 256 KiB of memory from the system. Owner worker only.
struct RecordChunk {
  static constexpr std::size_t kBytes = std::size_t{256} << 10U;

  RecordChunk* next = nullptr;
  std::uint64_t under_way = 0;  ///< sealed blocks that have not come back

  [[nodiscard]] char* begin() noexcept { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] char* end() noexcept { return reinterpret_cast<char*>(this) + kBytes; }
};

/// Its worker owns it until it is sealed, and again from its return on; in between the writer does.
struct RecordBlock {
  RecordBlock* next = nullptr;
  RecordChunk* chunk = nullptr;
  ApartValue apart;  ///< value of the last record
  std::uint64_t epoch = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t records = 0;  ///< without marks of batches

  /// kBlockHeaderBytes, which the writer fills; the records follow.
  [[nodiscard]] char* header() noexcept { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] char* payload() noexcept { return header() + kBlockHeaderBytes; }
  /// Bytes of memory that wait for the disk with this block.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return kBlockHeaderBytes + payload_bytes + apart.bytes;
  }
};

static_assert(sizeof(RecordChunk) % alignof(RecordBlock) == 0);

}  // namespace mxkv::server
