#include "server/cluster/shard.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

Shard::Shard(ShardOptions options, OrderedLog& log, ShardHost& host, const runtime::Clock& clock,
             ShardStart start)
    : options_(std::move(options)),
      log_(log),
      host_(host),
      clock_(clock),
      random_(static_cast<std::minstd_rand::result_type>(options_.seed)),
      wanted_lease_ns_(options_.lease_ns),
      state_(start.state),
      next_(start.position) {
  MXKV_ASSERT(options_.node != 0 && options_.part_bytes > 0, "a node has a number, and parts have a size");
}

void Shard::start() {
  follow_from(next_);
}

bool Shard::serves() const noexcept {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  return role_ == role::owns && now_ns >= serve_from_ns_ && now_ns < lease_until_ns_;
}

// Follower.

void Shard::follow_from(LogPosition position) {
  MXKV_ASSERT(role_ == role::follows && window_.empty(), "a follower has nothing to append");
  next_ = position;
  reads_ = true;
  parts_.clear();
  heard_ns_ = clock_.monotonic_ns();
  claim_at_ns_ = heard_ns_ + patience();
  log_.read(next_, *this);
}

void Shard::message(LogPosition position, std::string_view bytes) {
  if (position < next_) {
    return;
  }
  // An unread message may be a claim; without it this node could believe itself the owner.
  if (position > next_) {
    begins_later();
    return;
  }
  next_ = position + 1;
  const ParsedMessage parsed = parse_message(bytes, options_.scope);
  if (parsed.flaw != message_flaw::none) {
    ++counters_.discarded;
    counters_.last_flaw = parsed.flaw;
  } else {
    take(parsed.message);
  }
  if (role_ == role::owns || role_ == role::leaves) {
    settle();
  }
}

void Shard::begins_later() {
  role_ = role::stranded;
  ++life_;
  window_.clear();
  log_.stop();
  host_.stranded();
}

void Shard::take(const Message& message) {
  const bool owns = role_ == role::owns || role_ == role::leaves;
  const ShardState before = state_;
  const message_effect effect = state_.take(message);
  MXKV_ASSERT(state_.term() >= before.term(), "terms never go back");
  switch (effect) {
    case message_effect::opens:
      replaced_term_ = before.left_to() != 0 ? 0 : before.term();
      take_claim(message, before);
      return;
    case message_effect::counts:
    case message_effect::yields:
      heard_ns_ = clock_.monotonic_ns();
      if (owns) {
        MXKV_ASSERT(message.node == options_.node, "in the owner's term only its own messages count");
        acknowledge_front();
        return;
      }
      role_ = role::follows;
      collect(message);
      claim_at_ns_ = heard_ns_ + patience();
      if (state_.left_to() != 0) {
        claim_at_ns_ = state_.left_to() == options_.node ? heard_ns_ : claim_at_ns_ + courtesy_ns();
      }
      return;
    case message_effect::repeats:
      ++counters_.repeats;
      return;
    case message_effect::none:
      ++counters_.voids;
      note_void(message);
      return;
  }
}

void Shard::collect(const Message& message) {
  if (message.kind != message_kind::group) {
    return;
  }
  MXKV_ASSERT(message.part != 0 || parts_.empty(), "a group begins when the one before is complete");
  if (message.parts == 1) {
    host_.apply(message.epoch, message.body);
    return;
  }
  parts_.append(message.body);
  if (message.part + 1 == message.parts) {
    host_.apply(message.epoch, std::exchange(parts_, {}));
  }
}

void Shard::claim() {
  MXKV_ASSERT(role_ == role::follows || role_ == role::claims, "an owner has no shard to claim");
  const std::string body = write_claim({.lease_ns = wanted_lease_ns_, .address = options_.address});
  const Message open{.kind = message_kind::open,
                     .shard = options_.scope.shard,
                     .cluster = options_.scope.cluster,
                     .term = state_.term() + 1,
                     .node = options_.node,
                     .epoch = ++counters_.claims,
                     .body = body};
  role_ = role::claims;
  if (claimed_term_ != open.term) {
    claimed_term_ = open.term;
    claim_sent_ns_ = clock_.monotonic_ns();
  }
  claim_at_ns_ = clock_.monotonic_ns() + patience();
  // The log tells whether the claim was stored, and whether it was the first.
  log_.append(write_message(open), [](Appended) {});
}

// Also handles claims that were sent before an earlier one was decided: they are read here one after the
// other.
void Shard::take_claim(const Message& message, const ShardState& before) {
  parts_.clear();
  owner_address_ = parse_claim(message.body).address;
  if (role_ == role::owns || role_ == role::leaves) {
    be_ousted();
    return;
  }
  // Ignores claims of this node's former terms, which are read again.
  if (message.node == options_.node && message.term == claimed_term_ && message.epoch > past_claims_) {
    become_owner(before);
    return;
  }
  heard_ns_ = clock_.monotonic_ns();
  claim_at_ns_ = heard_ns_ + patience();
  role_ = role::follows;
}

// Owner.

void Shard::become_owner(const ShardState& before) {
  MXKV_ASSERT(state_.owner() == options_.node && state_.term() == claimed_term_,
              "the log, not the claim, makes an owner");
  MXKV_ASSERT(state_.sequence() == 1, "a term begins with its first message");
  const std::uint64_t now_ns = clock_.monotonic_ns();
  // A node that left the shard said so in the log, and serves no more. Without a term, no node has served.
  const bool free = before.left_to() != 0 || before.term() == 0;
  const std::uint64_t waits_for_ns =
      options_.rules.waits_by_the_owners_lease ? before.longest_lease_ns() : wanted_lease_ns_;
  serve_from_ns_ = free ? now_ns : heard_ns_ + waits_for_ns / 1000 * options_.margin_permille;
  lease_ns_ = state_.lease_ns();
  role_ = role::owns;
  ++counters_.terms;
  ++life_;
  last_sequence_ = 0;
  submitted_epoch_ = 0;
  last_sent_ns_ = 0;
  again_ = false;
  again_ns_ = 0;
  failed_ = 0;
  under_way_ = 0;
  read_to_ = next_;
  window_.clear();
  lease_until_ns_ = claim_sent_ns_ + lease_ns_;
  MXKV_ASSERT(claim_sent_ns_ <= now_ns, "the lease begins when the claim is sent");
  host_.owns(state_.term());
}

void Shard::enqueue(Message message, std::uint64_t epoch) {
  MXKV_ASSERT(role_ == role::owns || role_ == role::leaves, "only the owner writes in its term");
  MXKV_ASSERT(window_.empty() || window_.back().sequence == last_sequence_,
              "the window has a term's newest messages, without a hole");
  message.shard = options_.scope.shard;
  message.cluster = options_.scope.cluster;
  message.term = state_.term();
  message.sequence = ++last_sequence_;
  message.node = options_.node;
  last_sent_ns_ = clock_.monotonic_ns();
  Pending& pending = window_.emplace_back(Pending{.bytes = write_message(message),
                                                  .epoch = epoch,
                                                  .sequence = message.sequence,
                                                  .first_sent_ns = last_sent_ns_,
                                                  .lease_ns = lease_ns_});
  // Behind a message that must be appended again, it would be void.
  if (!again_) {
    append(pending);
  }
}

void Shard::append(Pending& pending) {
  MXKV_ASSERT(!pending.under_way, "one copy of a message is under way");
  pending.under_way = true;
  ++under_way_;
  log_.append(pending.bytes, [this, life = life_, sequence = pending.sequence](Appended appended) {
    if (life == life_) {
      answered(sequence, appended);
    }
  });
}

void Shard::submit(std::uint64_t epoch, std::string_view records) {
  MXKV_ASSERT(role_ == role::owns && clock_.monotonic_ns() >= serve_from_ns_,
              "only the owner changes a shard");
  MXKV_ASSERT(epoch > submitted_epoch_, "epochs are submitted in their order");
  submitted_epoch_ = epoch;
  const std::size_t parts =
      std::max<std::size_t>(1, (records.size() + options_.part_bytes - 1) / options_.part_bytes);
  for (std::size_t part = 0; part < parts; ++part) {
    enqueue({.kind = message_kind::group,
             .epoch = epoch,
             .part = static_cast<std::uint32_t>(part),
             .parts = static_cast<std::uint32_t>(parts),
             .body = records.substr(part * options_.part_bytes, options_.part_bytes)},
            part + 1 == parts ? epoch : 0);
  }
}

void Shard::leave(std::uint64_t to) {
  MXKV_ASSERT(role_ == role::owns && clock_.monotonic_ns() >= serve_from_ns_ && to != 0,
              "only an owner that served leaves a shard, and to somebody");
  role_ = role::leaves;
  const std::string body = write_node(to);
  enqueue({.kind = message_kind::yield, .body = body}, 0);
}

void Shard::answered(std::uint64_t sequence, Appended appended) {
  MXKV_ASSERT(under_way_ > 0, "an append is answered once");
  --under_way_;
  const auto pending = std::ranges::find(window_, sequence, &Pending::sequence);
  if (pending != window_.end()) {
    pending->under_way = false;
  }
  const bool stored = appended.outcome == append_outcome::stored;
  failed_ = stored ? 0 : failed_;
  if (!stored) {
    append_again_later();
  } else if (pending == window_.begin() && pending != window_.end() && !reads_ &&
             (appended.position == next_ || !options_.rules.reads_gaps)) {
    // No message came between: it counts.
    ++counters_.straight;
    next_ = appended.position + 1;
    const ParsedMessage own = parse_message(pending->bytes, options_.scope);
    const message_effect effect = state_.take(own.message);
    MXKV_ASSERT(effect == message_effect::counts || effect == message_effect::yields,
                "the owner's next counts");
    acknowledge_front();
  } else if (appended.position >= next_) {
    read_to_ = std::max(read_to_, appended.position + 1);
  }
  settle();
}

void Shard::acknowledge_front() {
  MXKV_ASSERT(!window_.empty() && window_.front().sequence + 1 == state_.sequence(),
              "what counts is the oldest");
  const Pending& front = window_.front();
  const std::uint64_t epoch = front.epoch;
  const std::uint64_t from_ns =
      options_.rules.lease_from_sending ? front.first_sent_ns : clock_.monotonic_ns();
  lease_until_ns_ = std::max(lease_until_ns_, from_ns + std::min(front.lease_ns, lease_ns_));
  window_.pop_front();
  MXKV_ASSERT(epoch <= submitted_epoch_, "only submitted epochs are acknowledged");
  if (epoch != 0) {
    host_.acknowledged(epoch);
  }
}

// Continues after an answer, or a message.
void Shard::settle() {
  if (role_ == role::leaves && window_.empty()) {
    have_left();
    return;
  }
  if (role_ != role::owns && role_ != role::leaves) {
    return;
  }
  const bool behind = next_ < read_to_;
  if (behind && !reads_) {
    ++counters_.gaps;
    reads_ = true;
    log_.read(next_, *this);
  } else if (!behind && reads_) {
    reads_ = false;
    log_.stop();
  }
}

void Shard::own_nothing() {
  ++life_;
  window_.clear();
  role_ = role::follows;
  claimed_term_ = 0;
  past_claims_ = counters_.claims;
}

void Shard::begin_again(const ShardStart& start) {
  MXKV_ASSERT(start.state.whole(), "reading begins between two groups");
  own_nothing();
  state_ = start.state;
  follow_from(start.position);
}

void Shard::end() {
  own_nothing();
  role_ = role::stranded;
  log_.stop();
}

void Shard::be_ousted() {
  ++counters_.ousted;
  own_nothing();
  const std::optional<ShardStart> start = host_.ousted();
  if (start) {
    state_ = start->state;
  }
  follow_from(start ? start->position : next_);
}

void Shard::have_left() {
  MXKV_ASSERT(state_.left_to() != 0, "a shard is left when its yield counts");
  ++counters_.yielded;
  own_nothing();
  follow_from(next_);
  claim_at_ns_ += courtesy_ns();
}

}  // namespace mxkv::server
