#include "server/feed/watch_index.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::server {

std::uint64_t WatchIndex::head_of(std::string_view text) noexcept {
  constexpr std::size_t kHeadBytes = sizeof(std::uint64_t);
  std::uint64_t head = 0;
  for (std::size_t i = 0; i < kHeadBytes; ++i) {
    head = head << 8U | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  }
  return head;
}

void WatchIndex::build(std::vector<Entry> entries) {
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::string_view{entry.span.low}; });
  nodes_.clear();
  nodes_.reserve(entries.size());
  for (Entry& entry : entries) {
    Node& node = nodes_.emplace_back();
    node.low_head = head_of(entry.span.low);
    node.high_head = head_of(entry.span.high);
    node.number = entry.number;
    node.span = std::move(entry.span);
  }
  if (!nodes_.empty()) {
    settle_most(0, nodes_.size());
  }
}

std::uint32_t WatchIndex::settle_most(std::size_t from, std::size_t to) {
  const std::size_t middle = from + (to - from) / 2;
  auto most = static_cast<std::uint32_t>(middle);
  const auto take = [&](std::uint32_t other) {
    const KeySpan& greatest = nodes_[most].span;
    const KeySpan& span = nodes_[other].span;
    if (!greatest.endless && (span.endless || span.high > greatest.high)) {
      most = other;
    }
  };
  if (from < middle) {
    take(settle_most(from, middle));
  }
  if (middle + 1 < to) {
    take(settle_most(middle + 1, to));
  }
  Node& node = nodes_[middle];
  node.most = most;
  node.most_head = nodes_[most].high_head;
  node.most_endless = nodes_[most].span.endless;
  return most;
}

}  // namespace mxkv::server
