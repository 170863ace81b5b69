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

void Tally::merge(const Tally& other) noexcept {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    kinds[i].merge(other.kinds[i]);
  }
  halves += other.halves;
  retries += other.retries;
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
