#include "server/store/core/quotas.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

namespace {

std::vector<std::string> sorted_prefixes(const std::vector<QuotaOptions>& options) {
  std::vector<std::string> prefixes;
  prefixes.reserve(options.size());
  for (const QuotaOptions& each : options) {
    prefixes.push_back(each.prefix);
  }
  std::ranges::sort(prefixes);
  return prefixes;
}

}  // namespace

QuotaPrefixes::QuotaPrefixes(std::vector<std::string> sorted) : texts_(std::move(sorted)) {
  MXKV_ASSERT(texts_.size() <= kMost, "the number of prefixes is bounded");
  entries_.reserve(texts_.size());
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    const std::string& text = texts_[i];
    MXKV_ASSERT(!text.empty() && (i == 0 || texts_[i - 1] < text), "prefixes are sorted and differ");
    // Whatever begins with this one's own prefix comes between the two.
    std::size_t within = i == 0 ? kNone : i - 1;
    while (within != kNone && !text.starts_with(texts_[within])) {
      within = entries_[within].within;
    }
    const std::size_t behind = 8 * (sizeof(std::uint64_t) - std::min(text.size(), sizeof(std::uint64_t)));
    entries_.push_back({.head = index::head_of(text, 0),
                        .mask = ~std::uint64_t{0} << behind,
                        .bytes = text.size(),
                        .within = within});
  }
}

std::size_t QuotaPrefixes::last_not_above(std::string_view key) const noexcept {
  const auto behind = std::ranges::upper_bound(texts_, key);
  return behind == texts_.begin() ? kNone : static_cast<std::size_t>(behind - texts_.begin()) - 1;
}

QuotaTally::QuotaTally(const QuotaPrefixes& prefixes)
    : prefixes_(prefixes), lines_(std::make_unique<Line[]>(prefixes.size())), published_(prefixes.size()) {}

std::size_t QuotaTally::put(const Item& item, const Item* old) noexcept {
  const std::size_t quota = prefixes_.find(item.key());
  if (quota != QuotaPrefixes::kNone) {
    add(quota, quota_count::items, old == nullptr ? 1 : 0);
    const std::uint64_t bytes = item.memory_bytes();
    add(quota, quota_count::bytes, bytes - (old == nullptr ? 0 : old->memory_bytes()));
    put_bytes_ += bytes;
  }
  return quota;
}

void QuotaTally::stored(const Item& item, const Item* old) noexcept {
  if (const std::size_t quota = put(item, old); quota != QuotaPrefixes::kNone) {
    add(quota, quota_count::sets, 1);
  }
}

void QuotaTally::removed(const Item& item) noexcept {
  const std::size_t quota = prefixes_.find(item.key());
  if (quota != QuotaPrefixes::kNone) {
    add(quota, quota_count::items, ~std::uint64_t{0});
    add(quota, quota_count::bytes, std::uint64_t{0} - item.memory_bytes());
  }
}

void QuotaTally::count(std::string_view key, quota_count which) noexcept {
  const std::size_t quota = prefixes_.find(key);
  if (quota != QuotaPrefixes::kNone) {
    add(quota, which, 1);
  }
}

Quotas::Quotas(const std::vector<QuotaOptions>& options, std::size_t workers)
    : prefixes_(sorted_prefixes(options)), shared_(std::make_unique<Shared[]>(prefixes_.size())) {
  for (std::size_t i = 0; i < workers; ++i) {
    tallies_.emplace_back(prefixes_);
  }
  set_limits(options);
}

void Quotas::set_limits(const std::vector<QuotaOptions>& options) noexcept {
  bool any_keeps = false;
  for (const QuotaOptions& each : options) {
    const std::size_t quota = prefixes_.find(each.prefix);
    MXKV_ASSERT(quota != QuotaPrefixes::kNone && prefixes_.at(quota) == each.prefix,
                "the set of prefixes stays as it was at the start");
    Shared& shared = shared_[quota];
    shared.most.store(each.most_bytes, std::memory_order_relaxed);
    shared.keep.store(each.keep_bytes, std::memory_order_relaxed);
    shared.evicts.store(each.evicts, std::memory_order_relaxed);
    shared.weighs_size.store(each.weighs_size, std::memory_order_relaxed);
    any_keeps = any_keeps || each.keep_bytes != 0;
  }
  any_keeps_.store(any_keeps, std::memory_order_relaxed);
}

std::uint64_t Quotas::total(std::size_t quota, quota_count which) const noexcept {
  std::uint64_t sum = 0;
  for (const QuotaTally& tally : tallies_) {
    sum += tally.value(quota, which);
  }
  // A removal on one worker may be seen before the item that another worker added.
  return which == quota_count::items || which == quota_count::bytes ? least_0(sum) : sum;
}

QuotaOptions Quotas::options(std::size_t quota) const {
  return {.prefix = std::string{prefixes_.at(quota)},
          .most_bytes = most(quota),
          .keep_bytes = shared_[quota].keep.load(std::memory_order_relaxed),
          .evicts = evicts(quota),
          .weighs_size = weighs_size(quota)};
}

std::uint64_t Quotas::publish(std::size_t quota, QuotaTally& tally) noexcept {
  const std::uint64_t fresh = tally.publish(quota);
  if (fresh == 0) {
    return published(quota);
  }
  return least_0(shared_[quota].charge.fetch_add(fresh, std::memory_order_relaxed) + fresh);
}

bool Quotas::keeps(std::string_view key) const noexcept {
  if (!any_keeps_.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::size_t quota = prefixes_.find(key);
  const std::uint64_t keep =
      quota == QuotaPrefixes::kNone ? 0 : shared_[quota].keep.load(std::memory_order_relaxed);
  return keep != 0 && published(quota) <= keep;
}

bool Quotas::leaves_less_than(std::string_view key, const QuotaTally& tally, std::uint64_t before,
                              std::uint64_t part) const noexcept {
  const std::size_t quota = prefixes_.find(key);
  if (quota == QuotaPrefixes::kNone || evicts(quota)) {
    return false;
  }
  const std::uint64_t charge =
      shared_[quota].charge.load(std::memory_order_relaxed) + tally.unpublished(quota);
  const std::uint64_t limit = most(quota);
  return least_0(charge) + before >= limit - (part == 0 ? 0 : limit / part);
}

}  // namespace mxkv::server
