// Where a task is to run, in 16 bits of its annotations: a worker, a core group, a NUMA node or a pool.
//
//   0x0000 worker    0x4000 core group    0x6000 NUMA node    0x8000 pool    0xFFFF anywhere
//
// An id too large for its part becomes the last one of that part, which no runtime has. It is an error at
// spawn like every other place that is not there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/ids.hpp"

namespace mxkv::runtime {

enum class target_kind : std::uint8_t { worker, core_group, node, pool, anywhere };

/// A value type without thread-safety concerns.
class Target {
 public:
  static constexpr std::uint16_t kAnywhere = 0xFFFF;

  constexpr explicit Target(std::uint16_t encoded) noexcept : encoded_(encoded) {}
  constexpr explicit Target(WorkerId id) noexcept
      : encoded_(id.value() == kAnywhere ? kAnywhere : encode(id.value(), 0, kGroups)) {}
  constexpr explicit Target(CoreGroupId id) noexcept : encoded_(encode(id.value(), kGroups, kNodes)) {}
  constexpr explicit Target(NumaNodeId id) noexcept : encoded_(encode(id.value(), kNodes, kPools)) {}
  constexpr explicit Target(PoolId id) noexcept : encoded_(encode(id.value(), kPools, kAnywhere)) {}

  [[nodiscard]] constexpr std::uint16_t encoded() const noexcept { return encoded_; }
  [[nodiscard]] constexpr target_kind kind() const noexcept {
    return encoded_ == kAnywhere ? target_kind::anywhere
           : encoded_ >= kPools  ? target_kind::pool
           : encoded_ >= kNodes  ? target_kind::node
           : encoded_ >= kGroups ? target_kind::core_group
                                 : target_kind::worker;
  }
  /// The id that kind() is the kind of.
  [[nodiscard]] constexpr std::uint16_t id() const noexcept {
    switch (kind()) {
      case target_kind::core_group:
        return static_cast<std::uint16_t>(encoded_ - kGroups);
      case target_kind::node:
        return static_cast<std::uint16_t>(encoded_ - kNodes);
      case target_kind::pool:
        return static_cast<std::uint16_t>(encoded_ - kPools);
      case target_kind::worker:
      case target_kind::anywhere:
        break;
    }
    return encoded_;
  }
  friend constexpr bool operator==(Target, Target) noexcept = default;

 private:
  static constexpr std::uint16_t kGroups = 0x4000;
  static constexpr std::uint16_t kNodes = 0x6000;
  static constexpr std::uint16_t kPools = 0x8000;

  static constexpr std::uint16_t encode(std::uint32_t id, std::uint32_t first, std::uint32_t end) noexcept {
    return static_cast<std::uint16_t>(first + std::min(id, end - first - 1));
  }
  std::uint16_t encoded_;
};

}  // namespace mxkv::runtime
