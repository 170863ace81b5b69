#include "server/net/worker/balancer.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::server {

namespace {
constexpr std::uint64_t kNsPerWindowMs = 1'000'000;
/// A window that took so many times its length says little about now.
constexpr std::uint64_t kLongestWindows = 3;
}  // namespace

Balancer::Balancer(std::vector<BalancePeer> peers, std::size_t own, const config::BalanceOptions& options)
    : peers_(std::move(peers)),
      own_(own),
      window_ns_(options.window_ms * kNsPerWindowMs),
      next_ns_(first_look(options.mode)),
      sums_(peers_.size()),
      busy_(peers_.size()) {}

std::uint64_t Balancer::first_look(config::balance_mode mode) const noexcept {
  return mode == config::balance_mode::off || peers_.size() == 1 ? ~std::uint64_t{0} : 0;
}

void Balancer::set_mode(config::balance_mode mode) noexcept {
  if ((mode == config::balance_mode::off) != (next_ns_ == ~std::uint64_t{0})) {
    next_ns_ = first_look(mode);
    suspects_ = false;
  }
}

void Balancer::measure(std::uint64_t now_ns, std::uint64_t passed_ns) {
  const auto grown = [](std::uint64_t now, std::uint64_t before) { return now - std::min(now, before); };
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const BalancePeer& peer = peers_[i];
    const Sums before = sums_[i];
    sums_[i].idle_ns = peer.idle->sum_ns(now_ns);
    sums_[i].delay_ns = peer.delay == nullptr ? 0 : peer.delay->sum_ns(before.delay_ns);
    busy_[i] = {peer.node, busy_thousandths(passed_ns, grown(sums_[i].idle_ns, before.idle_ns),
                                            grown(sums_[i].delay_ns, before.delay_ns))};
  }
}

Balancer::Advice Balancer::look(std::uint64_t now_ns) {
  const std::uint64_t passed_ns = std::max<std::uint64_t>(now_ns - last_ns_, 1);
  last_ns_ = now_ns;
  next_ns_ = now_ns + window_ns_;
  measure(now_ns, passed_ns);
  if (passed_ns > kLongestWindows * window_ns_) {
    suspects_ = false;
    return {};
  }
  if (passes_ > 0) {
    --passes_;
    return {};
  }
  const std::optional<std::size_t> taker = choose_taker(rules_, busy_, own_);
  if (!taker) {
    suspects_ = false;
    patience_ = kSettleWindows;
    return {};
  }
  if (!std::exchange(suspects_, !suspects_)) {
    return {.action = Advice::what::note};
  }
  return {.action = Advice::what::give,
          .taker = *taker,
          .busy = busy_[own_].busy,
          .gap = busy_[own_].busy - busy_[*taker].busy};
}

void Balancer::gave(std::size_t connections) noexcept {
  passes_ = connections > 0 ? kSettleWindows : patience_;
  patience_ = connections > 0 ? kSettleWindows : std::min(2 * patience_, kMostPatience);
}

}  // namespace mxkv::server
