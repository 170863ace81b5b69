#include "server/stats/watch_stats.hpp"

namespace mxkv::server {

void add_watch_stats(StatText& text, const Feed& feed) {
  const HeraldCounts& counts = feed.herald().counts();
  const auto add = [&text](const char* name, const std::atomic<std::uint64_t>& counter) {
    text.add(name, counter.load(std::memory_order_relaxed));
  };
  add("watches", counts.watches);
  add("channels", counts.channels);
  add("live", counts.live);
  add("behind", counts.behind);
  add("epochs", counts.epochs);
  add("changes", counts.changes);
  add("lines", counts.lines);
  add("told", counts.told);
  text.add("unread_bytes", feed.herald().unread_bytes());
  text.add("ring_bytes", feed.ring_bytes());
  text.add("history_bytes", feed.history_bytes());
  text.add("epoch", feed.epoch());
  add("gaps", counts.gaps);
  add("falls_behind", counts.falls);
  add("old", counts.old);
  add("lost", counts.lost);
}

}  // namespace mxkv::server
