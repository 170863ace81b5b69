// A node's side of one shard: follows its log, claims it when its owner is silent, and owns it.
//
//   follows ──(silent for a lease and a little)──> claims ──(its claim is the first)──> owns
//      ^                                              │ (another one was first)          │
//      └──────────────────────────────────────────────┴──(another one's claim is read)───┤
//      └────────────────────────────(its yield is stored)── leaves <─────────────────────┘
//
// *Acknowledged.* A message of the owner certainly counts once it is stored directly behind all that the
// owner knows of the log. If there is a gap before it, the owner reads the gap first, because another node's
// claim may be in it. So if no other node writes, the owner reads nothing back, and no append of an ousted
// owner is ever acknowledged.
//
// *A lost answer.* The owner appends the message again, and all later ones, in order: the first copy counts,
// and the others are repeats. The content of a sequence number never changes.
//
// *Reads* of the owner need no log while its lease runs: one lease from the moment, by its own clock, at
// which its newest message that counts was first SENT. A node that claims the shard serves only when the
// former owner's lease and the margin have passed since it RECEIVED that owner's last message. Clocks need
// not agree, only run at rates that differ by less than the margin: for rates of 1.05 and 0.95 the ratio is
// 1.05 / 0.95 = 1.106.
//
// *The lease* is in the log: a claim states it, and a beat changes it. So nodes with different leases are
// safe, and a cluster can change its lease while it serves. A longer lease holds for messages sent behind the
// beat that states it: a node that counts those messages has read that beat. A shorter lease holds from the
// moment at which the owner makes the beat.
//
// *Claims* are always safe, because the log decides; an early claim is only rude. So the wait before a claim
// concerns behaviour, not safety. But a claim that takes the shard from a live owner makes that owner drop
// memory; on machines too busy for their leases, this makes them busier. The former owner's void messages
// show that it lived. Then all nodes wait twice as long, and four times after another such claim, until the
// shard has been quiet for a while. An owner that is heard elsewhere, though not in this log, is waited for longer:
// four leases in all, because it may be cut off from this log alone.
//
// *Beats* of all idle shards of a node are sent together, at multiples of a sixth of the lease by its clock. So a
// reader of many logs, and each broker that copies them, gets many beats by one request. The lease does not depend
// on it: each beat renews the lease of its own log alone, from the moment at which it was sent.
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

/// Where reading of a shard's log begins: memory has all before it, and `state` is the result of all before
/// it.
struct ShardStart {
  LogPosition position = 0;
  ShardState state;
};

/// The memory that has a shard's data. Called on the shard's thread.
class ShardHost {
 public:
  virtual ~ShardHost() = default;
  /// A whole group of another node, or of this node in a former term. In the order of the log.
  virtual void apply(std::uint64_t epoch, std::string_view records) = 0;
  /// All that counts before this node's term has been applied. The host may append and serve once
  /// Shard::serves().
  virtual void owns(std::uint64_t term) = 0;
  /// All records submitted up to `epoch` are stored for good, and count.
  virtual void acknowledged(std::uint64_t epoch) = 0;
  /// Another node owns the shard. Records that were submitted and not acknowledged are void, and memory that
  /// holds them must be dropped. Returns where to begin again; nothing: the shard reads on, until the host
  /// calls begin_again() if it drops memory.
  virtual std::optional<ShardStart> ousted() = 0;
  /// The log cannot be read any more from memory's position. It stays unknown whether records that were
  /// submitted and not acknowledged count: they are never acknowledged. No further call follows.
  virtual void stranded() = 0;
};

/// Rules that a proof breaks, to see that it notices.
struct ShardRules {
  bool reads_gaps = true;
  bool lease_from_sending = true;
  bool waits_by_the_owners_lease = true;  ///< else by its own lease
  bool lease_shrinks_at_once = true;      ///< else once the beat is acknowledged
  bool snapshots_wait = true;             ///< until the changes in them are durable
  bool drops_wait = true;                 ///< until no worker is in a round that began before
  bool leaving_waits = true;              ///< until all changes that began here have ended
  FreshnessRules freshness{};
};

struct ShardOptions {
  MessageScope scope;
  std::uint64_t node = 0;  ///< of this start of the process; never 0, and never reused
  std::string address;     ///< for the other nodes
  /// A third of it passes between two beats, and before this node claims a shard that was left to another
  /// one.
  std::uint64_t lease_ns = 3'000'000'000;
  std::uint64_t margin_permille = 1120;  ///< of the lease, before a new owner serves: clock rates differ
  std::uint64_t fresh_ns = 0;            ///< between two checks of a follower's freshness; 0: no checks
  bool preferred = false;                ///< the map prefers this node as the owner: it claims before others
  std::size_t part_bytes = std::size_t{900} << 10U;
  std::uint64_t seed = 1;  ///< of the random part of a wait
  ShardRules rules;
};

/// A shard's counters. Thread-safety: a value.
struct ShardCounters {
  std::uint64_t claims = 0;
  std::uint64_t spared = 0;  ///< claims that were put off, because the silent owner is heard elsewhere
  std::uint64_t terms = 0;   ///< terms in which this node owned it
  std::uint64_t ousted = 0;
  std::uint64_t yielded = 0;
  std::uint64_t straight = 0;   ///< messages acknowledged without reading
  std::uint64_t gaps = 0;       ///< gaps read before a message behind them was acknowledged
  std::uint64_t again = 0;      ///< how often unanswered messages were appended again
  std::uint64_t repeats = 0;    ///< read
  std::uint64_t voids = 0;      ///< read
  std::uint64_t discarded = 0;  ///< read, with a flaw
  message_flaw last_flaw = message_flaw::none;
};

/// Thread-safety: one thread, which also gets the log's answers.
class Shard final : private LogSink {
 public:
  enum class role : std::uint8_t {
    follows,
    claims,
    owns,
    leaves,
    stranded,  ///< the log is cut off behind memory's position: takes no part until begin_again()
  };

  /// `clock`: this node's; only intervals matter.
  Shard(ShardOptions options, OrderedLog& log, ShardHost& host, const runtime::Clock& clock,
        ShardStart start);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// Call it once: begins to read.
  void start();
  /// Does what time alone requires: beats, claims. Call it a few times a beat. `reads`: whether the log is
  /// being read at present; if not, silence means nothing. `owner_lives`: the owner was heard lately, though maybe
  /// not in this log.
  void tick(bool reads = true, bool owner_lives = false);

  /// Sets the lease of this node's next claims. An owner states it, and uses it, at the next tick at which it
  /// serves.
  void set_lease(std::uint64_t lease_ns) noexcept { wanted_lease_ns_ = lease_ns; }

  /// Whether memory holds exactly the shard's data, now. A read that begins while this is true may be
  /// answered when all changes that it saw are acknowledged.
  [[nodiscard]] bool serves() const noexcept;
  /// Submits the changes of an epoch, which is greater than the epochs before; within it they may have any
  /// order. Only after serves() has been true in this term, and before leave().
  void submit(std::uint64_t epoch, std::string_view records);
  /// Leaves the shard to another node once all submitted records are acknowledged. It serves no more from now
  /// on.
  void leave(std::uint64_t to);
  /// Memory was dropped, and holds the data up to `start`: reads on from there, and owns nothing. Not within
  /// a call of the host.
  void begin_again(const ShardStart& start);
  /// Stops reading and taking part; answers under way are ignored. Afterwards its log may be destroyed.
  void end();

  [[nodiscard]] role now() const noexcept { return role_; }
  [[nodiscard]] const ShardState& state() const noexcept { return state_; }
  [[nodiscard]] LogPosition position() const noexcept { return next_; }  ///< of the next message
  /// Until when reads are correct, by the newest message that counts or by the claim; for an owner. Monotonic
  /// clock.
  [[nodiscard]] std::uint64_t lease_until_ns() const noexcept { return lease_until_ns_; }
  /// When the owner was last heard, or this node began to follow.
  [[nodiscard]] std::uint64_t heard_ns() const noexcept { return heard_ns_; }
  /// The owner's own statement of its address; empty: unknown.
  [[nodiscard]] const std::string& owner_address() const noexcept { return owner_address_; }
  [[nodiscard]] std::size_t unanswered() const noexcept { return window_.size(); }
  [[nodiscard]] const ShardCounters& counters() const noexcept { return counters_; }

 private:
  /// A message of this term that may not count yet.
  struct Pending {
    std::string bytes;
    std::uint64_t epoch = 0;  ///< the epoch that it acknowledges; 0: none
    std::uint64_t sequence = 0;
    std::uint64_t first_sent_ns = 0;
    std::uint64_t lease_ns = 0;  ///< the sender's lease at that time
    bool under_way = false;
  };

  void message(LogPosition position, std::string_view bytes) override;
  void begins_later() override;
  void take(const Message& message);
  void take_claim(const Message& message, const ShardState& before);
  void collect(const Message& message);

  /// A claim is due: makes it, or puts it off.
  void consider_claim(bool owner_lives);
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
  void append_again_later();
  void acknowledge_front();
  void settle();

  /// How long the owner must be silent before a claim.
  [[nodiscard]] std::uint64_t patience();
  /// Whether a beat is to be sent at this tick.
  [[nodiscard]] bool beat_is_due(std::uint64_t now_ns, std::uint64_t ticked_before_ns) const noexcept;
  /// A random duration of that range.
  [[nodiscard]] std::uint64_t any_ns(std::uint64_t least_ns, std::uint64_t most_ns);
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
  std::uint64_t claim_at_ns_ = 0;     ///< unless a message arrives before
  unsigned false_alarms_ = 0;         ///< recent cases in which a replaced owner still lived
  std::uint64_t false_alarm_ns_ = 0;  ///< the time of the last one
  std::uint64_t replaced_term_ =
      0;  ///< the last term that a claim ended; 0: none, or its owner is known to have lived
  std::uint64_t claimed_term_ = 0;  ///< by this node: the term it claims, or owns
  std::uint64_t past_claims_ = 0;   ///< claims made before it followed
  std::string parts_;               ///< of an incomplete group
  std::string owner_address_;

  // Owner.
  std::uint64_t serve_from_ns_ = 0;
  std::uint64_t lease_ns_ = 0;  ///< as it stated last
  std::uint64_t lease_until_ns_ = 0;
  std::uint64_t claim_sent_ns_ = 0;
  std::uint64_t last_sent_ns_ = 0;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t submitted_epoch_ = 0;  ///< the last one of this term
  std::deque<Pending> window_;
  std::size_t under_way_ = 0;
  bool again_ = false;          ///< some message of the window is not stored, or may not be
  std::uint64_t again_ns_ = 0;  ///< they are not appended again before
  unsigned failed_ = 0;         ///< appends that failed, in a row
  LogPosition read_to_ = 0;     ///< a message was stored behind a gap: read up to here, excluded
  std::uint64_t life_ = 0;      ///< answers to a former term are ignored
};

}  // namespace mxkv::server
