// A node's side of one shard: follows its log, claims it when its owner is silent, and owns it.
//
//   follows ──(silent for a lease and a little)──> claims ──(its claim is the first)──> owns
//      ^                                              │ (another one was first)          │
//      └──────────────────────────────────────────────┴──(another one's claim is read)───┤
//      └────────────────────────────(its yield is stored)── leaves <─────────────────────┘
//
// *Acknowledged.* A message of the owner counts for certain once it is stored directly behind all that the owner knows
// of the log. Where there is a gap before it, the gap is read first: it may hold somebody's claim. So with nobody
// else writing nothing is read back, and nothing that an ousted owner appends is ever answered.
//
// *An answer that is lost.* The message is appended again, and all behind it, in order: whichever copy comes first
// counts, and the rest repeats. The content of a sequence number never changes.
//
// *Reads* of the owner need no log while its lease runs: for its lease from when its newest message that counts was
// first SENT, by its own clock. Whoever claims serves only when that owner's lease and the margin have passed since it
// RECEIVED the last message of the owner before. Clocks need not agree, only run at rates that differ by less than the
// margin: one that runs at 1.05 behind one of 0.95 needs 1.05 / 0.95 = 1.106.
//
// *A lease* is in the log: a claim tells it, and a beat tells another one. So nodes of different leases are safe, and a
// cluster changes its lease while it serves. A longer one counts for messages that are sent behind the one that tells it:
// whoever believes these has read that. A shorter one counts from when the owner makes that message.
//
// *Claims* are always safe, and only rude when early: the log decides. So how long one waits before is a matter of
// behaviour, and is no part of what is decided. But a claim that takes a shard from an owner which lives throws memory away
// there; where machines are too busy for their leases, that makes them busier. That the owner lived its void messages
// tell. All wait twice as long then, and four times after another one, until the shard has been quiet for a while.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "runtime/base/clock.hpp"
#include "server/cluster/freshness.hpp"
#include "server/cluster/message.hpp"
#include "server/cluster/ordered_log.hpp"
#include "server/cluster/shard_state.hpp"

namespace mxkv::server {

/// Where a shard's log is taken up: what is before it is in memory, and `state` is what came of it.
struct ShardStart {
  LogPosition position = 0;
  ShardState state;
};

/// The memory that a shard's log is of. Called on the shard's thread.
class ShardHost {
 public:
  virtual ~ShardHost() = default;
  /// A group of somebody else, or of this node in a former term, whole. In the order of the log.
  virtual void apply(std::uint64_t epoch, std::string_view records) = 0;
  /// All that counts before this node's term was applied. It may append, and serve once Shard::serves().
  virtual void owns(std::uint64_t term) = 0;
  /// What was submitted up to `epoch` is stored for good, and counts.
  virtual void acknowledged(std::uint64_t epoch) = 0;
  /// The shard is another one's. What was submitted and not acknowledged is void, known to be so, and memory that
  /// holds it is to be thrown away. Returns where to begin again; nothing: memory holds nothing that is void.
  virtual std::optional<ShardStart> ousted() = 0;
  /// The log cannot be read any more from where memory stands. Whether what was submitted and not acknowledged counts
  /// nobody here will know: it is never answered. Nothing more comes.
  virtual void stranded() = 0;
};

/// What a proof breaks, to see that it would notice.
struct ShardRules {
  bool reads_gaps = true;
  bool lease_from_sending = true;
  bool waits_by_the_owners_lease = true;  ///< else by its own
  bool lease_shrinks_at_once = true;      ///< else once that is acknowledged
  bool snapshots_wait = true;             ///< until what they hold is durable
  bool drops_wait = true;                 ///< of memory, until no worker is in a round that began before
  FreshnessRules freshness{};
};

struct ShardOptions {
  MessageScope scope;
  std::uint64_t node = 0;  ///< of this start of the process; never 0, and never the same again
  std::string address;     ///< told to the others
  /// A third of it passes between two beats, and before a shard that was left to somebody else is claimed.
  std::uint64_t lease_ns = 3'000'000'000;
  std::uint64_t margin_permille = 1120;  ///< of the lease, before a new owner serves; rates of clocks differ
  std::uint64_t fresh_ns =
      0;  ///< between two times that a follower finds out how fresh it is; 0: it does not
  std::size_t part_bytes = std::size_t{900} << 10U;
  std::uint64_t seed = 1;  ///< of how long each one waits
  ShardRules rules;
};

/// What a shard counts. Thread-safety: a value.
struct ShardCounters {
  std::uint64_t claims = 0;
  std::uint64_t terms = 0;  ///< that this node owned it
  std::uint64_t ousted = 0;
  std::uint64_t yielded = 0;
  std::uint64_t straight = 0;   ///< messages acknowledged without reading
  std::uint64_t gaps = 0;       ///< read, before anything behind them was acknowledged
  std::uint64_t again = 0;      ///< times that what was not answered was appended once more
  std::uint64_t repeats = 0;    ///< read
  std::uint64_t voids = 0;      ///< read
  std::uint64_t discarded = 0;  ///< read, with a flaw
  message_flaw last_flaw = message_flaw::none;
};

/// Thread-safety: one thread, on which the log answers.
class Shard final : private LogSink {
 public:
  enum class role : std::uint8_t {
    follows,
    claims,
    owns,
    leaves,
    stranded,  ///< the log was cut off behind what memory holds: it takes no part, until it is made anew elsewhere
  };

  /// `clock`: this node's; only its intervals matter.
  Shard(ShardOptions options, OrderedLog& log, ShardHost& host, const runtime::Clock& clock,
        ShardStart start);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// Once: begins to read.
  void start();
  /// What time alone brings about: beats, claims. To be called a few times a beat. `reads`: whether what is in the log
  /// is read at present; else silence means nothing.
  void tick(bool reads = true);

  /// Of this node's claims from now on; an owner tells it and goes by it at the next tick at which it serves.
  void set_lease(std::uint64_t lease_ns) noexcept { wanted_lease_ns_ = lease_ns; }

  /// Whether what memory holds is what the shard holds, now. Reads that were begun while it was true may be answered
  /// when all that they saw is acknowledged.
  [[nodiscard]] bool serves() const noexcept;
  /// Changes of an epoch, greater than those before, in an order of their own. Only while serves() has been true in
  /// this term, and before leave().
  void submit(std::uint64_t epoch, std::string_view records);
  /// Leaves the shard to another node, once what was submitted is acknowledged. It serves no more from now on.
  void leave(std::uint64_t to);
  /// Memory was thrown away, and holds what `start` says: reads on from there, and owns nothing. Not within a call of
  /// the host.
  void begin_again(const ShardStart& start);
  /// Reads no more, and takes no part any more; what is under way is nobody's. Its log may go then.
  void end();

  [[nodiscard]] role now() const noexcept { return role_; }
  [[nodiscard]] const ShardState& state() const noexcept { return state_; }
  [[nodiscard]] LogPosition position() const noexcept { return next_; }  ///< of what comes next
  /// Until when the newest message that counts, or the claim, keeps reads right; of an owner. Monotonic clock.
  [[nodiscard]] std::uint64_t lease_until_ns() const noexcept { return lease_until_ns_; }
  /// When the owner was last heard of, or this node began to follow.
  [[nodiscard]] std::uint64_t heard_ns() const noexcept { return heard_ns_; }
  /// Where the owner said that it is; empty: not known.
  [[nodiscard]] const std::string& owner_address() const noexcept { return owner_address_; }
  [[nodiscard]] std::size_t unanswered() const noexcept { return window_.size(); }
  [[nodiscard]] const ShardCounters& counters() const noexcept { return counters_; }

 private:
  /// A message of this term that is not yet known to count.
  struct Pending {
    std::string bytes;
    std::uint64_t epoch = 0;  ///< acknowledged with it; 0: none
    std::uint64_t sequence = 0;
    std::uint64_t first_sent_ns = 0;
    std::uint64_t lease_ns = 0;  ///< of the sender then
    bool under_way = false;
  };

  void message(LogPosition position, std::string_view bytes) override;
  void begins_later() override;
  void take(const Message& message);
  void take_claim(const Message& message, const ShardState& before);
  void collect(const Message& message);

  void claim();
  void become_owner(const ShardState& before);
  void take_up_lease();
  void be_ousted();
  void own_nothing();
  void have_left();
  void follow_from(LogPosition position);

  void enqueue(Message message, std::uint64_t epoch);
  void append(Pending& pending);
  void answered(std::uint64_t sequence, Appended appended);
  void acknowledge_front();
  void settle();

  /// How long to hear nothing before a claim.
  [[nodiscard]] std::uint64_t patience();
  void note_void(const Message& message) noexcept;
  [[nodiscard]] std::uint64_t courtesy_ns() const noexcept { return wanted_lease_ns_ / 3; }

  const ShardOptions options_;
  OrderedLog& log_;
  ShardHost& host_;
  const runtime::Clock& clock_;
  std::minstd_rand random_;
  role role_ = role::follows;
  std::uint64_t wanted_lease_ns_;
  ShardState state_;
  LogPosition next_;  ///< all before it is accounted for
  bool reads_ = false;
  std::uint64_t ticked_ns_ = 0;
  ShardCounters counters_;

  // Follower.
  std::uint64_t heard_ns_ = 0;        ///< when the last message that counts was received
  std::uint64_t claim_at_ns_ = 0;     ///< unless something is heard
  unsigned false_alarms_ = 0;         ///< owners that were replaced and lived, one soon after the other
  std::uint64_t false_alarm_ns_ = 0;  ///< when that was last
  std::uint64_t replaced_term_ =
      0;  ///< the last one that another node ended; 0: or its owner is known to have lived
  std::uint64_t claimed_term_ = 0;  ///< by this node, and not yet decided; or the one that it owns
  std::uint64_t past_claims_ = 0;   ///< so many were made before it followed
  std::string parts_;               ///< of a group that is not yet whole
  std::string owner_address_;

  // Owner.
  std::uint64_t serve_from_ns_ = 0;
  std::uint64_t lease_ns_ = 0;  ///< as it told last
  std::uint64_t lease_until_ns_ = 0;
  std::uint64_t claim_sent_ns_ = 0;
  std::uint64_t last_sent_ns_ = 0;
  std::uint64_t last_sequence_ = 0;
  std::deque<Pending> window_;
  std::size_t under_way_ = 0;
  bool again_ = false;  ///< some of the window is not stored, or may not be
  LogPosition read_to_ =
      0;  ///< something was stored behind what is accounted for: read on up to there, excluded
  std::uint64_t life_ = 0;  ///< answers of a former term are nobody's
};

}  // namespace mxkv::server
