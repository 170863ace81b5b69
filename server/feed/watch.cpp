#include "server/feed/watch.hpp"

namespace mxkv::server {

std::uint64_t Watch::take_back(std::uint64_t told, std::vector<std::string>& marks) {
  const std::scoped_lock lock{mutex_};
  // The connection must get the rest of an epoch that it has begun: a batch could be cut otherwise.
  std::size_t keep = 0;
  if (cut_) {
    while (tidings_[keep].frame == nullptr || !tidings_[keep].frame->ends_epoch()) {
      ++keep;
      MXKV_ASSERT(keep < tidings_.size(), "frames are added by the epoch");
    }
    ++keep;
  }
  while (keep < tidings_.size() && tidings_[keep].is != Tiding::what::lines) {
    ++keep;  // the answer to the request that began it
  }
  std::uint64_t first = told;
  for (std::size_t i = tidings_.size(); i > keep; --i) {
    Tiding& tiding = tidings_[i - 1];
    if (tiding.frame != nullptr) {
      first = tiding.frame->epoch() - 1;
    }
    if (tiding.asked) {
      marks.push_back(std::move(tiding.opaque));
    }
    bytes_ -= bytes_of(tiding);
    tidings_.pop_back();
  }
  return first;
}

}  // namespace mxkv::server
