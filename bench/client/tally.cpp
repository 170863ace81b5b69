#include "bench/client/tally.hpp"

namespace mxkv::bench {

void KindTally::record(Outcome outcome, std::uint64_t latency_ns) noexcept {
  latency.record(latency_ns);
  switch (outcome) {
    case Outcome::ok:
      ++ok;
      break;
    case Outcome::not_found:
      ++not_found;
      break;
    case Outcome::wrong:
      ++wrong;
      break;
    case Outcome::incomplete:
    case Outcome::follow_up:
    case Outcome::error:
    case Outcome::out_of_step:
      ++error;
      break;
  }
}

void KindTally::merge(const KindTally& other) noexcept {
  latency.merge(other.latency);
  intended.merge(other.intended);
  ok += other.ok;
  not_found += other.not_found;
  wrong += other.wrong;
  error += other.error;
}

void CacheFigures::merge(const CacheFigures& other) noexcept {
  hits += other.hits;
  misses += other.misses;
  hit_bytes += other.hit_bytes;
  miss_bytes += other.miss_bytes;
}

double CacheFigures::hit_ratio() const noexcept {
  const std::uint64_t all = hits + misses;
  return all == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(all);
}

double CacheFigures::byte_hit_ratio() const noexcept {
  const std::uint64_t all = hit_bytes + miss_bytes;
  return all == 0 ? 0 : static_cast<double>(hit_bytes) / static_cast<double>(all);
}

void Tally::merge(const Tally& other) noexcept {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    kinds[i].merge(other.kinds[i]);
  }
  halves += other.halves;
  retries += other.retries;
  cache.merge(other.cache);
}

void Tally::clear() noexcept {
  for (KindTally& kind : kinds) {
    if (kind.latency.count() != 0) {
      kind.latency.clear();
      kind.intended.clear();
    }
    kind.ok = kind.not_found = kind.wrong = kind.error = 0;
  }
  halves = 0;
  retries = 0;
  cache = {};
}

std::uint64_t Tally::requests() const noexcept {
  std::uint64_t sum = 0;
  for (const KindTally& kind : kinds) {
    sum += kind.latency.count();
  }
  return sum;
}

std::uint64_t Tally::operations() const noexcept {
  return requests() - halves;
}

std::uint64_t Tally::failures(bool misses_allowed) const noexcept {
  std::uint64_t sum = 0;
  for (const KindTally& kind : kinds) {
    sum += kind.wrong + kind.error + (misses_allowed ? 0 : kind.not_found);
  }
  const KindTally& whole = of(OperationKind::read_modify_write);  // its parts are counted already
  return sum - (whole.wrong + whole.error + (misses_allowed ? 0 : whole.not_found));
}

}  // namespace mxkv::bench
