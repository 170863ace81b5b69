#include "server/store/watch/watch_hub.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/item/item.hpp"
#include "server/store/watch/uri_key.hpp"

namespace mxkv::server {

namespace {

std::string in_uri(std::string_view key) {
  std::string text(3 * key.size(), '\0');
  text.resize(static_cast<std::size_t>(write_in_uri(text.data(), key) - text.data()));
  return text;
}

std::string seconds_left(std::uint32_t expiry, std::uint64_t now_us) {
  if (expiry == 0) {
    return "0";
  }
  const std::uint64_t now = now_us / kUsPerSecond;
  return std::to_string(expiry > now ? expiry - now : 0);
}

}  // namespace

Watcher::offered Watcher::offer(std::string_view line) {
  MXKV_ASSERT(line.ends_with('\n'), "a watcher is told whole lines");
  const std::scoped_lock lock{mutex_};
  if (lines_.size() + line.size() > kMostBytes) {
    ++lost_;
    return offered::lost;
  }
  if (lost_ > 0) {
    lines_.append("skipped=").append(std::to_string(std::exchange(lost_, 0))).append("\n");
  }
  lines_.append(line);
  return std::exchange(woken_, true) ? offered::kept : offered::kept_wake;
}

std::string Watcher::take() {
  const std::scoped_lock lock{mutex_};
  woken_ = false;
  return std::exchange(lines_, {});
}

std::shared_ptr<Watcher> WatchHub::add(std::uint32_t kinds, std::uint16_t worker) {
  MXKV_ASSERT(kinds != 0, "who watches nothing is no watcher");
  const std::scoped_lock lock{mutex_};
  if (watchers_.size() >= kMostWatchers) {
    return nullptr;
  }
  watchers_.push_back(std::make_shared<Watcher>(kinds, worker));
  settle_wanted();
  return watchers_.back();
}

void WatchHub::remove(const std::shared_ptr<Watcher>& watcher) {
  const std::scoped_lock lock{mutex_};
  std::erase(watchers_, watcher);
  settle_wanted();
}

void WatchHub::settle_wanted() noexcept {
  std::uint32_t wanted = 0;
  for (const std::shared_ptr<Watcher>& watcher : watchers_) {
    wanted |= watcher->kinds();
  }
  if (counts_prefixes()) {
    wanted |= watched::kFetchers | watched::kMutations | watched::kDeletions;
  }
  wanted_.store(wanted, std::memory_order_relaxed);
}

std::size_t WatchHub::watchers() const {
  const std::scoped_lock lock{mutex_};
  return watchers_.size();
}

void WatchHub::tell(runtime::Worker& worker, std::uint32_t kind, const std::string& what) {
  MXKV_ASSERT(what.find('\n') == std::string::npos, "an event is one line");
  const std::uint64_t now_us = worker.runtime().clock().unix_us();
  const std::string line =
      "ts=" + std::to_string(now_us / kUsPerSecond) + "." + std::to_string(now_us % kUsPerSecond) +
      " gid=" + std::to_string(number_.fetch_add(1, std::memory_order_relaxed) + 1) + " type=" + what + "\n";
  std::uint64_t wake = 0;  // by watcher; there are fewer than bits
  const std::scoped_lock lock{mutex_};
  static_assert(kMostWatchers <= 64);
  for (std::size_t i = 0; i < watchers_.size(); ++i) {
    if ((watchers_[i]->kinds() & kind) == 0) {
      continue;
    }
    const Watcher::offered how = watchers_[i]->offer(line);
    (how == Watcher::offered::lost ? lost_ : sent_).fetch_add(1, std::memory_order_relaxed);
    wake |= how == Watcher::offered::kept_wake ? std::uint64_t{1} << i : 0;
  }
  for (std::size_t i = 0; wake != 0; ++i, wake >>= 1U) {
    if ((wake & 1U) != 0 && watchers_[i]->worker() < wakers_.size()) {
      const Waker& waker = wakers_[watchers_[i]->worker()];
      waker.wake(waker.context, worker);
    }
  }
}

void WatchHub::count_prefixes(bool on) {
  const std::scoped_lock lock{mutex_};
  counts_prefixes_.store(on, std::memory_order_relaxed);
  settle_wanted();
}

void WatchHub::fetched(runtime::Worker& worker, std::string_view key, bool found, std::uint64_t bytes,
                       int cfd) {
  if (counts_prefixes()) {
    prefixes_.count(key, found ? PrefixCounts::command::hit : PrefixCounts::command::miss);
  }
  met(worker, key, found, bytes, cfd);
}

void WatchHub::met(runtime::Worker& worker, std::string_view key, bool found, std::uint64_t bytes, int cfd) {
  if (wants(watched::kFetchers)) {
    tell(worker, watched::kFetchers,
         "item_get key=" + in_uri(key) + " status=" + (found ? "found" : "not_found") + " clsid=" +
             (found ? "1" : "0") + " cfd=" + std::to_string(cfd) + " size=" + std::to_string(bytes));
  }
}

void WatchHub::stored(runtime::Worker& worker, std::string_view key, std::string_view status,
                      std::string_view command, std::uint32_t expiry, std::uint64_t bytes, int cfd) {
  if (wants(watched::kMutations)) {
    tell(worker, watched::kMutations,
         "item_store key=" + in_uri(key) + " status=" + std::string{status} + " cmd=" + std::string{command} +
             " ttl=" + seconds_left(expiry, worker.now_us()) + " clsid=1 cfd=" + std::to_string(cfd) +
             " size=" + std::to_string(bytes));
  }
}

void WatchHub::deleted(runtime::Worker& worker, std::string_view key, std::string_view command,
                       std::uint64_t bytes, int cfd) {
  if (wants(watched::kDeletions)) {
    tell(worker, watched::kDeletions,
         "deleted key=" + in_uri(key) + " cmd=" + std::string{command} +
             " clsid=1 cfd=" + std::to_string(cfd) + " size=" + std::to_string(bytes));
  }
}

void WatchHub::connection(runtime::Worker& worker, std::string_view peer, std::string_view reason, int cfd) {
  if (wants(watched::kConnections)) {
    // As in memcached, a unix socket is "local", and its peer's name is not shown.
    std::string_view address = "unix";
    std::string_view port = "0";
    if (peer.starts_with("tcp")) {
      address = peer.substr(peer.find(':') + 1);
      port = address.substr(address.rfind(':') + 1);
      address.remove_suffix(port.size() + 1);
      if (address.starts_with('[')) {
        address = address.substr(1, address.size() - 2);
      }
    }
    tell(worker, watched::kConnections,
         (reason.empty() ? "conn_new rip=" : "conn_close rip=") + std::string{address} +
             " rport=" + std::string{port} + " transport=" + (address == "unix" ? "local" : "tcp") +
             (reason.empty() ? "" : " reason=" + std::string{reason}) + " cfd=" + std::to_string(cfd));
  }
}

void WatchHub::evicted(runtime::Worker& worker, const Item& item) {
  if (wants(watched::kEvictions)) {
    tell(worker, watched::kEvictions,
         "eviction key=" + in_uri(item.key()) + " fetch=" + (item.accessed() ? "yes" : "no") +
             " ttl=" + (item.expiry() == 0 ? "-1" : seconds_left(item.expiry(), worker.now_us())) +
             " la=" + std::to_string(item.idle_us(worker.now_us()) / kUsPerSecond) +
             " clsid=1 size=" + std::to_string(item.value_bytes()));
  }
}

}  // namespace mxkv::server
