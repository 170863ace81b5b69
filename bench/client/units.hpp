// Units of time.
#pragma once

#include <cstdint>

namespace mxkv::bench {

inline constexpr std::uint64_t kNsPerUs = 1'000;
inline constexpr std::uint64_t kNsPerMs = 1'000'000;
inline constexpr std::uint64_t kNsPerS = 1'000'000'000;

}  // namespace mxkv::bench
