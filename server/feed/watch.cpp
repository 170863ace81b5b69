#include "server/feed/watch.hpp"

namespace mxkv::server {

bool Watch::add(Tiding&& tiding) {
  const std::scoped_lock lock{mutex_};
  const bool is_mark = tiding.is == Tiding::what::lines && tiding.frame == nullptr && !tiding.asked;
  if (is_mark && !tidings_.empty() && tidings_.back().marks) {
    tidings_.back().position = tiding.position;  // there are no lines between both
    return false;
  }
  bytes_ += bytes_of(tiding);
  tidings_.push_back(std::move(tiding));
  return !std::exchange(listed_, true);
}

// A frame that the connection has taken is never told again: the cursor is within its epoch.
FeedCursor Watch::take_back(const FeedCursor& at, std::deque<AskedMark>& marks) {
  const std::scoped_lock lock{mutex_};
  FeedCursor first = at;
  while (!tidings_.empty() && tidings_.back().is == Tiding::what::lines) {
    Tiding& tiding = tidings_.back();
    bytes_ -= bytes_of(tiding);
    if (tiding.frame != nullptr) {
      first = {.epoch = tiding.frame->which().epoch - 1, .lines = tiding.frame->which().from};
    }
    if (tiding.asked) {
      marks.push_front({.opaque = std::move(tiding.opaque),
                        .target = tiding.position.epoch,
                        .charge = std::move(tiding.charge)});
    }
    tidings_.pop_back();
  }
  return first;
}

std::optional<Tiding> Watch::take(bool& herald_waits) {
  const std::scoped_lock lock{mutex_};
  herald_waits = tidings_.empty() && std::exchange(herald_waits_, false);
  if (tidings_.empty()) {
    listed_ = false;
    return std::nullopt;
  }
  Tiding taken = std::move(tidings_.front());
  tidings_.pop_front();
  bytes_ -= bytes_of(taken);
  asked -= taken.asked ? 1 : 0;
  return taken;
}

}  // namespace mxkv::server
