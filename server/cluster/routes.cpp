#include "server/cluster/routes.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::server {

Routes::Routes(std::vector<std::string> splits)
    : splits_(std::move(splits)), cells_(std::make_unique<Cell[]>(splits_.size() + 1)) {
  MXKV_ASSERT(std::ranges::adjacent_find(splits_, std::greater_equal{}) == splits_.end() &&
                  (splits_.empty() || !splits_.front().empty()),
              "shards are in the order of their keys");
  for (const std::string& split : splits_) {
    heads_.push_back(index::head_of(split, 0));
  }
}

std::uint32_t Routes::shard_behind(std::size_t at, std::string_view key, std::uint64_t head) const noexcept {
  while (at < splits_.size() && heads_[at] == head && splits_[at] <= key) {
    ++at;
  }
  return static_cast<std::uint32_t>(at);
}

std::uint32_t Routes::peer(std::string_view address) {
  const std::scoped_lock lock{mutex_};
  const auto known = std::ranges::find(peers_, address);
  if (known != peers_.end()) {
    return static_cast<std::uint32_t>(known - peers_.begin());
  }
  peers_.emplace_back(address);
  return static_cast<std::uint32_t>(peers_.size() - 1);
}

std::string Routes::peer_address(std::uint32_t peer) const {
  const std::scoped_lock lock{mutex_};
  MXKV_ASSERT(peer < peers_.size(), "a peer was given its number here");
  return peers_[peer];
}

}  // namespace mxkv::server
