// Shard's functions for what time alone requires: beats and the lease, the wait before a claim, repeated appends.
#include <algorithm>
#include <random>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/cluster/shard.hpp"

namespace mxkv::server {
namespace {

constexpr unsigned kMostDoublings = 2;     ///< of the time before a claim
constexpr std::uint64_t kRestLeases = 40;  ///< a shard without a false alarm for this many leases is quiet
constexpr std::uint64_t kLeasesOfLiveOwner = 4;  ///< an owner that is heard elsewhere may be silent this long
constexpr std::uint64_t kFirstPauseNs = 50'000'000;  ///< before a failed append is repeated; then it doubles
constexpr unsigned kMostPauseDoublings = 10;

}  // namespace

// The owner's lease decides: an owner sends about three messages in that time. The node that the map prefers claims
// first: then the shard need not move.
std::uint64_t Shard::patience() {
  const std::uint64_t lease_ns = state_.term() == 0 ? wanted_lease_ns_ : state_.lease_ns();
  if (clock_.monotonic_ns() > false_alarm_ns_ + kRestLeases * lease_ns) {
    false_alarms_ = 0;
  }
  const std::uint64_t turn_ns = lease_ns / 4;
  return (lease_ns << false_alarms_) +
         (options_.preferred ? any_ns(0, turn_ns) : any_ns(turn_ns, 2 * turn_ns));
}

std::uint64_t Shard::any_ns(std::uint64_t least_ns, std::uint64_t most_ns) {
  return std::uniform_int_distribution<std::uint64_t>{least_ns, most_ns}(random_);
}

void Shard::note_void(const Message& message) noexcept {
  if (replaced_term_ != 0 && message.term == replaced_term_ && message.kind != message_kind::open) {
    replaced_term_ = 0;  // once for each term
    false_alarms_ = std::min(false_alarms_ + 1, kMostDoublings);
    false_alarm_ns_ = clock_.monotonic_ns();
    claim_at_ns_ = std::max(claim_at_ns_, heard_ns_ + patience());
  }
}

// An idle shard sends a beat at every other multiple of a sixth of the lease, so the idle shards of a node form two
// groups at most. No two messages are further apart than 2.25 sixths of the lease, and a tick.
bool Shard::beat_is_due(std::uint64_t now_ns, std::uint64_t ticked_before_ns) const noexcept {
  const std::uint64_t sixth_ns = lease_ns_ / 6;
  const std::uint64_t silent_ns = now_ns - last_sent_ns_;
  const bool together = now_ns / sixth_ns != ticked_before_ns / sixth_ns;
  return silent_ns >= (together ? sixth_ns * 5 / 4 : sixth_ns * 9 / 4);
}

void Shard::tick(bool reads, bool owner_lives) {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  const std::uint64_t ticked_before_ns = std::exchange(ticked_ns_, now_ns);
  const bool stood_still = !reads || now_ns > ticked_before_ns + wanted_lease_ns_ / 3;
  if (role_ == role::follows || role_ == role::claims) {
    if (stood_still) {
      claim_at_ns_ = std::max(claim_at_ns_, now_ns + patience());  // newer messages are unread
    } else if (now_ns >= claim_at_ns_) {
      consider_claim(owner_lives);
    }
    return;
  }
  if (role_ == role::stranded) {
    return;
  }
  // Append in order, and only when no copy under way can come in between.
  if (again_ && now_ns >= again_ns_ && under_way_ == 0 && next_ >= read_to_) {
    again_ = false;
    ++counters_.again;
    for (Pending& pending : window_) {
      append(pending);
    }
  }
  if (role_ != role::owns) {
    return;
  }
  const bool serves = now_ns >= serve_from_ns_;
  if (serves && lease_ns_ != wanted_lease_ns_) {
    take_up_lease();
  }
  // Messages under way renew the lease as well as a beat does.
  if (window_.empty() && beat_is_due(now_ns, ticked_before_ns)) {
    const std::string told = serves ? write_lease(lease_ns_) : std::string{};
    enqueue({.kind = message_kind::beat, .body = told}, 0);
  }
}

// A node that reads the shorter lease waits for no more than that. So from now on no read here may rely on
// more.
void Shard::take_up_lease() {
  const bool shrinks = wanted_lease_ns_ < lease_ns_;
  lease_ns_ = wanted_lease_ns_;
  if (shrinks && options_.rules.lease_shrinks_at_once) {
    lease_until_ns_ = std::min(lease_until_ns_, clock_.monotonic_ns() + lease_ns_);
  }
  const std::string told = write_lease(lease_ns_);
  enqueue({.kind = message_kind::beat, .body = told}, 0);
}

void Shard::consider_claim(bool owner_lives) {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  const bool has_owner = state_.term() != 0 && state_.left_to() == 0;
  if (owner_lives && has_owner && role_ == role::follows &&
      now_ns < heard_ns_ + kLeasesOfLiveOwner * state_.lease_ns()) {
    ++counters_.spared;
    claim_at_ns_ = now_ns + any_ns(courtesy_ns() / 2, courtesy_ns());
  } else {
    claim();
  }
}

// At first soon, because most failures pass; then ever later, because engines that fail are often overloaded.
void Shard::append_again_later() {
  if (!std::exchange(again_, true)) {
    const std::uint64_t pause_ns =
        std::min(kFirstPauseNs << std::min(failed_, kMostPauseDoublings), lease_ns_ / 6);
    ++failed_;
    again_ns_ = clock_.monotonic_ns() + any_ns(pause_ns / 2, pause_ns);
  }
}

}  // namespace mxkv::server
