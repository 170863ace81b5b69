#include "server/cluster/shard_state.hpp"

#include "runtime/base/assert.hpp"

namespace mxkv::server {

message_effect ShardState::take(const Message& message) noexcept {
  if (message.kind == message_kind::open) {
    if (message.term != term_ + 1) {
      return message_effect::none;
    }
    // An owner that left the shard serves no more. Any earlier owner may still serve, until the new one is
    // known to.
    const std::uint64_t before_ns = left_to_ != 0 ? 0 : longest_lease_ns();
    *this = ShardState{};
    term_ = message.term;
    owner_ = message.node;
    lease_ns_ = parse_claim(message.body).lease_ns;
    lease_before_ns_ = before_ns;
    MXKV_ASSERT(owner_ != 0 && lease_ns_ >= kShortestLeaseNs && lease_ns_ <= kLongestLeaseNs,
                "a shard that is owned has a lease");
    return message_effect::opens;
  }
  if (term_ == 0 || message.term != term_ || message.node != owner_ ||
      message.kind == message_kind::snapshot) {
    return message_effect::none;
  }
  if (message.sequence < next_) {
    return message_effect::repeats;
  }
  if (message.sequence > next_ || left_to_ != 0) {
    return message_effect::none;
  }
  // The parts of a group follow each other directly.
  const bool goes_on = parts_ != 0;
  if (goes_on ? message.kind != message_kind::group || message.epoch != epoch_ || message.parts != parts_ ||
                    message.part != part_
              : message.part != 0) {
    return message_effect::none;
  }
  ++next_;
  part_ = message.part + 1;
  parts_ = part_ == message.parts ? 0 : message.parts;
  epoch_ = message.epoch;
  MXKV_ASSERT(parts_ == 0 || part_ < parts_, "an incomplete group has a part to come");
  const std::optional<std::uint64_t> lease_ns =
      message.kind == message_kind::beat ? parse_lease(message.body) : std::nullopt;
  lease_ns_ = lease_ns.value_or(lease_ns_);
  if (lease_ns || message.kind != message_kind::beat) {
    lease_before_ns_ = 0;  // the owner serves, so it has waited for earlier leases
  }
  if (message.kind == message_kind::yield) {
    left_to_ = parse_node(message.body).value_or(0);
    MXKV_ASSERT(left_to_ != 0, "a yield names the next node");
    return message_effect::yields;
  }
  return message_effect::counts;
}

}  // namespace mxkv::server
