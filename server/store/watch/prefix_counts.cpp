#include "server/store/watch/prefix_counts.hpp"

#include "protocol/reply.hpp"

namespace mxkv::server {

void PrefixCounts::count(std::string_view key, command what) {
  const std::string_view prefix = key.substr(0, key.find(':'));
  if (prefix.size() == key.size() || prefix.empty() || !protocol::all_key_bytes(prefix)) {
    return;
  }
  const std::scoped_lock lock{mutex_};
  auto at = counts_.find(prefix);
  if (at == counts_.end()) {
    if (counts_.size() >= kMost) {
      return;
    }
    at = counts_.emplace(prefix, Counts{}).first;
  }
  Counts& counts = at->second;
  switch (what) {
    case command::hit:
      ++counts.hits;
      ++counts.gets;
      break;
    case command::miss:
      ++counts.gets;
      break;
    case command::set:
      ++counts.sets;
      break;
    case command::remove:
      ++counts.removals;
      break;
  }
}

void PrefixCounts::clear() {
  const std::scoped_lock lock{mutex_};
  counts_.clear();
}

std::string PrefixCounts::text() const {
  std::string text;
  const std::scoped_lock lock{mutex_};
  for (const auto& [prefix, counts] : counts_) {
    text.append("PREFIX ").append(prefix);
    text.append(" get ").append(std::to_string(counts.gets));
    text.append(" hit ").append(std::to_string(counts.hits));
    text.append(" set ").append(std::to_string(counts.sets));
    text.append(" del ").append(std::to_string(counts.removals)).append(protocol::kCrLf);
  }
  return text.append(protocol::kEnd);
}

}  // namespace mxkv::server
