#include "server/durability/resumed_time.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

ResumedTime resumed_time(std::span<const SegmentScan> scans, const JournalVerdict& verdict,
                         std::uint64_t wall_us) noexcept {
  constexpr std::int64_t kSecondUs = 1'000'000;
  constexpr std::int64_t kRounded = 2 * kSecondUs;  // differences are recorded in whole seconds
  std::int64_t last_us = 0;
  std::int64_t ahead_us = 0;
  for (const JournalVerdict::Part& part : verdict.parts) {
    MXKV_ASSERT(part.segment < scans.size() && part.groups <= scans[part.segment].groups.size(),
                "the groups that count were scanned");
    for (std::size_t i = 0; i < part.groups; ++i) {
      const ScannedGroup& group = scans[part.segment].groups[i];
      ahead_us = group.wall_ahead_s * kSecondUs;
      last_us = std::max(last_us, static_cast<std::int64_t>(group.unix_us) - ahead_us);
    }
  }
  const auto wall = static_cast<std::int64_t>(wall_us);
  const auto may_be = [last_us](std::int64_t reading_us) { return reading_us + kRounded >= last_us; };
  const auto [earlier_us, later_us] = std::minmax({wall, wall - ahead_us});
  const std::int64_t now_us = may_be(earlier_us) ? earlier_us : may_be(later_us) ? later_us : last_us;
  return {.steady_us = static_cast<std::uint64_t>(std::max({now_us, last_us, std::int64_t{1}})),
          .clock_behind = !may_be(later_us)};
}

}  // namespace mxkv::server
