#include "server/feed/watch.hpp"

namespace mxkv::server {

std::uint64_t Watch::take_back(std::uint64_t told, std::vector<std::string>& marks) {
  const std::scoped_lock lock{mutex_};
  // The first epoch stays: the connection may have begun it, and a watch whose every epoch is taken back would never get
  // on.
  std::size_t keep = 0;
  while (keep < tidings_.size()) {
    const FrameRef& frame = tidings_[keep++].frame;
    if (frame != nullptr && frame->ends_epoch()) {
      break;
    }
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
