// The kind of memory that was refused, and how far the request that lacks it has waited.
#pragma once

#include <cstdint>

namespace mxkv::server {

/// It decides which items eviction removes.
enum class shortage : std::uint8_t {
  block,  ///< a block of any size, or a node of the tree
  chunk,  ///< a chunk of a large value: all chunks have one size
};

/// What a request waits for whose memory was refused where nothing may be evicted. It stays with the request until
/// that got its memory, or was refused for good.
class RoomWait {
 public:
  /// Whether the request was refused before.
  [[nodiscard]] bool waits() const noexcept { return bits_ != 0; }
  /// The reclaim pass that it waits for (reclaim_passes.hpp).
  [[nodiscard]] std::uint32_t pass() const noexcept { return bits_ & ~kGathers; }
  /// Whether fragments are gathered, or a cleared tree is taken apart, during that pass.
  [[nodiscard]] bool gathers() const noexcept { return (bits_ & kGathers) != 0; }
  void wait_for(std::uint32_t pass, bool gathers) noexcept { bits_ = pass | (gathers ? kGathers : 0U); }

 private:
  static constexpr std::uint32_t kGathers = std::uint32_t{1} << 31U;
  std::uint32_t bits_ = 0;
};

static_assert(sizeof(RoomWait) == 4, "a write has room for it");

}  // namespace mxkv::server
