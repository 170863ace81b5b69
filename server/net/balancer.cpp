#include "server/net/balancer.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::server {

namespace {
constexpr std::uint64_t kNsPerMs = 1'000'000;
/// A window that took so many times as long says little of now.
constexpr std::uint64_t kLongestWindows = 3;
}  // namespace

Balancer::Balancer(runtime::Worker& own, const config::BalanceOptions& options) noexcept
    : own_(own),
      window_ns_(options.window_ms * kNsPerMs),
      next_ns_(options.mode == config::balance_mode::off ? ~std::uint64_t{0} : 0) {}

void Balancer::measure(std::uint64_t now_ns, std::uint64_t passed_ns) {
  runtime::Runtime& runtime = own_.runtime();
  busy_.resize(runtime.worker_count());
  idle_ns_.resize(runtime.worker_count());
  for (std::size_t i = 0; i < busy_.size(); ++i) {
    const runtime::Worker& worker = runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    const std::uint64_t idle_ns = worker.idle_clock().sum_ns(now_ns);
    const std::uint64_t before_ns = std::exchange(idle_ns_[i], idle_ns);
    const std::uint64_t passed_idle_ns = std::min(passed_ns, idle_ns - std::min(idle_ns, before_ns));
    busy_[i] = {worker.node(), static_cast<std::uint32_t>((passed_ns - passed_idle_ns) * 1000 / passed_ns)};
  }
}

Balancer::Advice Balancer::look(std::uint64_t now_ns) {
  if (own_.runtime().worker_count() == 1) {
    next_ns_ = ~std::uint64_t{0};
    return {};
  }
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
  const std::size_t own = own_.id().index();
  const std::optional<std::size_t> taker = choose_taker(rules_, busy_, own);
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
          .busy = busy_[own].busy,
          .gap = busy_[own].busy - busy_[*taker].busy};
}

void Balancer::gave(std::size_t connections) noexcept {
  passes_ = connections > 0 ? kSettleWindows : patience_;
  patience_ = connections > 0 ? kSettleWindows : std::min(2 * patience_, kMostPatience);
}

}  // namespace mxkv::server
