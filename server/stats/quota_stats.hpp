// Quotas by prefix, for `stats prefixes` and the metrics.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "server/store/core/quotas.hpp"

namespace mxkv::server {

class StatText;
class Store;
struct User;

/// A quota at one moment.
struct QuotaSums {
  QuotaOptions options;
  std::uint64_t charge = 0;  ///< what the limits are compared with
  std::array<std::uint64_t, kQuotaCounts> counts{};
  [[nodiscard]] std::uint64_t of(quota_count which) const noexcept {
    return counts[static_cast<std::size_t>(which)];
  }
  /// 0: there is no limit.
  [[nodiscard]] std::uint64_t limit() const noexcept {
    return options.most_bytes == QuotaOptions::kNoLimit ? 0 : options.most_bytes;
  }
};

/// In the order of the prefixes. Thread-safety of both: any thread; each number is a recent one.
[[nodiscard]] std::vector<QuotaSums> quota_sums(const Store& store);
/// `user`: who asks; a user with prefixes sees the quotas in which its keys count. Null: one that sees all.
void add_quota_stats(StatText& text, const Store& store, const User* user);

}  // namespace mxkv::server
