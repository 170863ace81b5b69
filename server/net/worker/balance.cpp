#include "server/net/worker/balance.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

/// Of two workers that are equally busy, the one with the lower number comes first.
bool busier(std::span<const WorkerBusy> workers, std::size_t a, std::size_t b) {
  return workers[a].busy != workers[b].busy ? workers[a].busy > workers[b].busy : a < b;
}

/// The worker among `some` that is as far from the idlest as the giver is from the busiest, if it has that
/// much less to do.
std::optional<std::size_t> opposite(const BalanceRules& rules, std::span<const WorkerBusy> workers,
                                    std::vector<std::size_t> some, std::size_t giver, unsigned gap_percent) {
  std::ranges::sort(some, [workers](std::size_t a, std::size_t b) { return busier(workers, a, b); });
  const auto place = std::ranges::find(some, giver) - some.begin();
  const std::size_t taker = some[some.size() - 1 - static_cast<std::size_t>(place)];
  const std::uint32_t least =
      std::max(rules.least_gap, static_cast<std::uint32_t>(workers[giver].busy * gap_percent / 100));
  if (workers[taker].busy + least > workers[giver].busy) {
    return std::nullopt;
  }
  return taker;
}

}  // namespace

std::uint32_t busy_thousandths(std::uint64_t passed_ns, std::uint64_t idle_ns,
                               std::uint64_t delay_ns) noexcept {
  const std::uint64_t busy_ns = passed_ns - std::min(passed_ns, idle_ns);
  return static_cast<std::uint32_t>(std::min(passed_ns, busy_ns + delay_ns) * 1000 / passed_ns);
}

std::optional<std::size_t> choose_taker(const BalanceRules& rules, std::span<const WorkerBusy> workers,
                                        std::size_t giver) {
  MXKV_ASSERT(giver < workers.size(), "who gives is one of them");
  if (workers[giver].busy < rules.least_busy) {
    return std::nullopt;
  }
  std::vector<std::size_t> near;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    all.push_back(i);
    if (workers[i].node == workers[giver].node) {
      near.push_back(i);
    }
  }
  const auto taker = opposite(rules, workers, near, giver, rules.gap_percent);
  return taker || near.size() == all.size() ? taker
                                            : opposite(rules, workers, all, giver, rules.remote_gap_percent);
}

// In units of work: `busy` thousandths correspond to all of the giver's work. Moved work leaves one side and
// is added to the other, so twice of it should equal the gap.
std::vector<std::size_t> choose_connections(const BalanceRules& rules, std::uint32_t busy, std::uint32_t gap,
                                            std::span<const ConnectionWork> connections) {
  MXKV_ASSERT(busy > 0 && gap <= busy, "who gives is busier than who takes");
  std::uint64_t all = 0;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    all += connections[i].work;
    if (connections[i].movable && connections[i].work > 0) {
      order.push_back(i);
    }
  }
  std::ranges::sort(order, [connections](std::size_t a, std::size_t b) {
    return connections[a].work != connections[b].work ? connections[a].work > connections[b].work : a < b;
  });
  const double work_of_gap = static_cast<double>(all) * gap / busy;
  const auto left = [work_of_gap](std::uint64_t moved) {
    const double rest = work_of_gap - 2 * static_cast<double>(moved);
    return rest < 0 ? -rest : rest;
  };
  std::vector<std::size_t> chosen;
  std::uint64_t moved = 0;
  std::optional<std::size_t> over;   // the smallest connection that is too much in addition to the chosen
  std::optional<std::size_t> alone;  // the smallest connection that is too much alone
  for (const std::size_t i : order) {
    if (chosen.size() == rules.most_moves) {
      break;
    }
    if (2 * static_cast<double>(moved + connections[i].work) <= work_of_gap) {
      chosen.push_back(i);
      moved += connections[i].work;
      continue;
    }
    over = i;
    if (2 * static_cast<double>(connections[i].work) > work_of_gap) {
      alone = i;
    }
  }
  if (over && chosen.size() < rules.most_moves && left(moved + connections[*over].work) < left(moved)) {
    chosen.push_back(*over);
    moved += connections[*over].work;
  }
  if (alone && left(connections[*alone].work) < left(moved)) {
    chosen.assign(1, *alone);
    moved = connections[*alone].work;
  }
  const double gain = work_of_gap - left(moved);
  if (chosen.size() < rules.most_moves &&
      gain * busy < static_cast<double>(rules.least_gain) * static_cast<double>(all)) {
    return {};
  }
  return chosen;
}

}  // namespace mxkv::server
