#include "server/stats/quota_stats.hpp"

#include <algorithm>
#include <string>

#include "server/net/users/users.hpp"
#include "server/stats/stat_text.hpp"
#include "server/store/store.hpp"

namespace mxkv::server {

namespace {

/// Whether some key of the user counts in the quota.
bool concerns(const User& user, const QuotaPrefixes& prefixes, std::string_view quota) {
  return !user.limits_keys() || std::ranges::any_of(user.options.prefixes, [&](const std::string& own) {
    const std::size_t around = prefixes.find(own);
    return quota.starts_with(own) || (around != QuotaPrefixes::kNone && prefixes.at(around) == quota);
  });
}

}  // namespace

std::vector<QuotaSums> quota_sums(const Store& store) {
  std::vector<QuotaSums> sums;
  const Quotas* const quotas = store.quotas();
  for (std::size_t quota = 0; quotas != nullptr && quota < quotas->size(); ++quota) {
    QuotaSums& sum = sums.emplace_back();
    sum.options = quotas->options(quota);
    for (std::size_t i = 0; i < kQuotaCounts; ++i) {
      sum.counts[i] = quotas->total(quota, static_cast<quota_count>(i));
    }
    sum.charge = sum.of(quota_count::bytes) + kBesideItem * sum.of(quota_count::items);
  }
  return sums;
}

void add_quota_stats(StatText& text, const Store& store, const User* user) {
  std::size_t number = 0;
  for (const QuotaSums& sum : quota_sums(store)) {
    if (user != nullptr && !concerns(*user, store.quotas()->prefixes(), sum.options.prefix)) {
      continue;
    }
    const std::string before = std::to_string(++number) + ":";
    text.add(before + "prefix", sum.options.prefix);
    text.add(before + "items", sum.of(quota_count::items));
    text.add(before + "bytes", sum.of(quota_count::bytes));
    text.add(before + "memory", sum.charge);
    text.add(before + "limit", sum.limit());
    text.add(before + "keep", sum.options.keep_bytes);
    text.add(before + "when_full", sum.options.evicts ? "evict" : "error");
    text.add(before + "evict_for", sum.options.weighs_size ? "requests" : "bytes");
    text.add(before + "sets", sum.of(quota_count::sets));
    text.add(before + "evictions", sum.of(quota_count::evictions));
    text.add(before + "evicted_unfetched", sum.of(quota_count::evicted_unread));
    text.add(before + "expired", sum.of(quota_count::expired));
    text.add(before + "refused", sum.of(quota_count::refused));
    text.add(before + "ghost_returns", sum.of(quota_count::ghost_returns));
    text.add(before + "sampled_hits", sum.of(quota_count::sampled_hits));
    text.add(before + "sampled_misses", sum.of(quota_count::sampled_misses));
  }
}

}  // namespace mxkv::server
