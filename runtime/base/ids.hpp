// Strong ids: an index of one kind cannot be passed where another is meant.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace mxkv::runtime {

/// An index of kind `Tag`. Trivially copyable; a value type without thread-safety concerns.
template <class Tag, class Rep = std::uint16_t>
class StrongId {
 public:
  using rep = Rep;
  constexpr StrongId() noexcept = default;
  constexpr explicit StrongId(Rep value) noexcept : value_(value) {}
  [[nodiscard]] constexpr Rep value() const noexcept { return value_; }
  [[nodiscard]] constexpr std::size_t index() const noexcept { return static_cast<std::size_t>(value_); }
  friend constexpr auto operator<=>(StrongId, StrongId) noexcept = default;

 private:
  Rep value_{};
};

using WorkerId = StrongId<struct WorkerIdTag>;        ///< position of a worker in the runtime, from 0
using NumaNodeId = StrongId<struct NumaNodeIdTag>;    ///< logical index of a NUMA node, from 0
using CoreGroupId = StrongId<struct CoreGroupIdTag>;  ///< PUs that share a cache, from 0
using PoolId = StrongId<struct PoolIdTag>;            ///< a task pool = synchronization domain
using PuId = StrongId<struct PuIdTag>;                ///< operating-system index of a processing unit
using RequestId = StrongId<struct RequestIdTag, std::uint64_t>;
using EpochId = StrongId<struct EpochIdTag, std::uint64_t>;

}  // namespace mxkv::runtime

template <class Tag, class Rep>
struct std::hash<mxkv::runtime::StrongId<Tag, Rep>> {
  std::size_t operator()(mxkv::runtime::StrongId<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
