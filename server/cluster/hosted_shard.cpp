#include "server/cluster/hosted_shard.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {
namespace {

constexpr std::uint64_t kLongestPauseNs = 60'000'000'000;

const char* text_of(Shard::role role) {
  switch (role) {
    case Shard::role::follows:
      return "follows";
    case Shard::role::claims:
      return "claims";
    case Shard::role::owns:
      return "owns";
    case Shard::role::leaves:
      return "leaves";
    case Shard::role::stranded:
      break;
  }
  return "stranded";
}

}  // namespace

HostedShard::HostedShard(const ShardSurroundings& around, std::uint32_t id, std::unique_ptr<OrderedLog> log,
                         std::unique_ptr<OrderedLog> snapshots, const ShardOptions& options)
    : around_(around),
      id_(id),
      options_(options),
      log_(std::move(log)),
      snapshots_(std::move(snapshots)),
      shard_(options, *log_, *this, around.clock, {}),
      freshness_(options.fresh_ns, options.lease_ns, options.rules.freshness) {}

// -- calls of the engine

void HostedShard::apply(std::uint64_t /*epoch*/, std::string_view records) {
  if (!loading_) {
    log_bytes_ += records.size();
    around_.memory.apply(id_, records);
  }
}

void HostedShard::owns(std::uint64_t term) {
  MXKV_ASSERT(!open_, "a new term begins closed: its owner applies the rest of the log first");
  open_at_ = around_.memory.begun(id_);
  around_.info(name() + ": owned, term " + std::to_string(term));
}

void HostedShard::acknowledged(std::uint64_t epoch) {
  around_.pipeline.acknowledged(id_, epoch);
}

// load() finds the position where memory continues.
std::optional<ShardStart> HostedShard::ousted() {
  around_.warn(name() + ": another node owns it now");
  if (held_void_) {
    reload();
  } else {
    close();
  }
  return std::nullopt;
}

void HostedShard::stranded() {
  around_.warn(name() +
               ": its log has been cut off at the next position to read, or has a hole, as compaction and "
               "other programs' transactions leave; the shard is loaded again");
  // Each reload holds all replies of this node and gives up the waiting ones. So it is rare if nothing has
  // changed.
  look_for_end(*log_, shard_.position(), "its log");
  const bool same = std::exchange(stranded_at_, shard_.position()) == shard_.position();
  load_pause_ns_ = same ? std::min(2 * load_pause_ns_, kLongestPauseNs) : options_.lease_ns / 3;
  reload();
  load_ns_ = around_.clock.monotonic_ns() + load_pause_ns_;
}

// -- calls of the node

bool HostedShard::submit(std::uint64_t epoch, const std::string& body) {
  if (!held_void_ || shard_.now() != Shard::role::owns) {
    return false;
  }
  log_bytes_ += body.size();
  shard_.submit(epoch, body);
  return true;
}

void HostedShard::strayed() {
  around_.warn(name() + ": writes that this node made after it lost the shard are void and dropped");
  throw_away_void();
}

void HostedShard::leave(std::uint64_t to) {
  if (!may_leave()) {
    return;
  }
  MXKV_ASSERT(to != 0 && to != options_.node, "a shard is left to another process");
  around_.routes.set(id_, {});
  leaving_ =
      Leaving{.to = to, .began_ns = around_.clock.monotonic_ns(), .changes = around_.routes.changes().ask()};
}

void HostedShard::set_lease(std::uint64_t lease_ns) noexcept {
  options_.lease_ns = lease_ns;
  shard_.set_lease(lease_ns);
  freshness_.set_lease(lease_ns);
}

std::uint64_t HostedShard::retire() {
  MXKV_ASSERT(may_retire(), "a shard that is asked for here stays");
  close();
  taking_.reset();
  loader_.reset();
  loading_ = true;
  shard_.end();
  log_.reset();
  snapshots_.reset();
  return end_reads();
}

void HostedShard::close() {
  around_.routes.set(id_, {});
  freshness_.withdraw();
  around_.routes.set_fresh_from(id_, 0);
  open_ = false;
  open_at_.reset();
  leaving_.reset();
}

// If memory lacks items of it, it is no replica, whatever role its engine has.
ShardPresence HostedShard::presence() const {
  const char* const role = !lack_.empty() ? "stranded"
                           : loading_     ? "loads"
                           : is_sound()   ? text_of(shard_.now())
                                          : "stranded";
  return {.id = id_,
          .role = role,
          .term = shard_.state().term(),
          .position = shard_.position(),
          .serves = serves()};
}

// -- memory

void HostedShard::reload() {
  around_.pipeline.lost(id_);
  throw_away_void();
}

void HostedShard::throw_away_void() {
  if (std::exchange(owes_clean_, true)) {
    around_.pipeline.found_clean();  // the later drop covers both losses
  }
  throw_away();
}

std::uint64_t HostedShard::end_reads() {
  return around_.pipeline.end_reads(std::exchange(was_here_, false));
}

// The loaded data is applied after the drop. The drop waits until each worker has ended its present round:
// otherwise a read that began while the shard was here would find no items, and nothing would hold its reply. Reads
// that began and did not end in that round are given up (EpochPipeline).
void HostedShard::throw_away() {
  close();
  held_void_ = false;
  ++counters_.thrown_away;
  clean_at_.reset();
  level_at_.reset();
  const std::uint64_t epoch = end_reads();
  drop_at_ = options_.rules.drops_wait ? epoch : 0;
  loading_ = true;
  load_ns_ = 0;
  loader_.reset();
}

// A replica has no void data, so no reply waits for this drop. A shard that this node owns and has not opened is
// not held any longer, either: without beats its lease ends, and another node claims it.
void HostedShard::give_up_copy(std::uint64_t now_ns) {
  MXKV_ASSERT(!open_ && !held_void_, "an open shard has all records of its log");
  const bool again = lacked_ns_ != 0 && now_ns < lacked_ns_ + 2 * kLongestPauseNs;
  load_pause_ns_ = again ? std::min(2 * load_pause_ns_, kLongestPauseNs) : options_.lease_ns / 3;
  lacked_ns_ = now_ns;
  lack_ = around_.memory.failure(id_);
  if (!again) {
    around_.warn(name() + ": " + lack_ + "; its copy here is dropped, and loaded again when memory allows");
  }
  throw_away();
  load_ns_ = now_ns + load_pause_ns_;
}

void HostedShard::is_level() {
  if (lack_.empty() || !is_sound()) {
    return;
  }
  if (!level_at_) {
    level_at_ = around_.memory.begun(id_);
  } else if (around_.memory.finished(id_) >= *level_at_ && !around_.memory.failed(id_)) {
    has_all();
    around_.info(name() + ": its copy here is whole again");
  }
}

void HostedShard::has_all() {
  level_at_.reset();
  lack_.clear();
  around_.memory.give_way(id_, false);
}

void HostedShard::load_now() noexcept {
  if (!lack_.empty()) {
    load_ns_ = 0;
  }
}

// The board states positions. If a mirror has copied the topics, the copies begin at 0 and are too short for
// these positions.
void HostedShard::look_for_end(OrderedLog& log, LogPosition needed, const char* what) {
  log.end([this, needed, what](std::optional<LogPosition> end) {
    if (end && *end < needed) {
      around_.warn(name() + ": " + what + " ends at " + std::to_string(*end) + ", but must be read from " +
                   std::to_string(needed) +
                   " according to the metadata topic: these topics are copies with other offsets, or lost " +
                   "their end; the shard cannot be loaded");
    }
  });
}

void HostedShard::load(std::uint64_t now_ns) {
  if (loader_ == nullptr) {
    if (now_ns < load_ns_) {
      return;
    }
    around_.keep_expired();
    around_.memory.give_way(id_, !lack_.empty());
    const std::optional<SnapshotEntry> entry = around_.newest_snapshot(id_);
    if (!entry) {
      follow({});
      return;
    }
    loader_ =
        std::make_unique<SnapshotLoader>(*snapshots_, options_.scope, *entry,
                                         [this](std::string_view body) { around_.memory.apply(id_, body); });
    loader_moved_ns_ = now_ns;
  }
  if (std::exchange(loader_taken_, loader_->taken()) != loader_->taken()) {
    loader_moved_ns_ = now_ns;
  }
  const bool silent =
      loader_->now() == SnapshotLoader::state::reading && now_ns >= loader_moved_ns_ + kLongestPauseNs;
  if (loader_->now() == SnapshotLoader::state::failed || silent) {
    around_.warn(name() + (silent ? ": its snapshot is incomplete; it is read again, or the next one"
                                  : ": its snapshot was removed while it was read; the next one is read"));
    around_.memory.drop(id_, around_.routes.begin_of(id_), around_.routes.end_of(id_));
    look_for_end(*snapshots_, loader_->entry().first, "the log of its snapshots");
    const bool same = std::exchange(failed_snapshot_, loader_->entry().number) == failed_snapshot_;
    load_pause_ns_ = same ? std::min(2 * load_pause_ns_, kLongestPauseNs) : options_.lease_ns / 3;
    loader_.reset();
    load_ns_ = now_ns + load_pause_ns_;
  } else if (loader_->now() == SnapshotLoader::state::loaded) {
    const SnapshotEntry entry = loader_->entry();
    loader_.reset();
    ++counters_.snapshots_loaded;
    around_.info(name() + ": loaded a snapshot of " + std::to_string(entry.items) + " items");
    follow(entry.start);
  }
}

void HostedShard::follow(const ShardStart& start) {
  MXKV_ASSERT(loading_ && !drop_at_ && loader_ == nullptr, "the log is followed when its snapshot is loaded");
  loading_ = false;
  open_at_.reset();  // the log tells once more how a claim made meanwhile ended
  log_bytes_ = 0;
  shard_.begin_again(start);
}

// No new request begins here. An earlier one may still wait for its turn: a connection's writes take effect
// in order, and the previous write may be at another node, which may wait for this one in turn. So this wait
// has a limit. At the limit nothing is lost yet, so the shard stays.
void HostedShard::go_on_leaving(std::uint64_t now_ns) {
  if (leaving_->epoch == 0) {
    if (options_.rules.leaving_waits && !around_.routes.changes().has_ended(leaving_->changes)) {
      if (now_ns >= leaving_->began_ns + kMostLeavingNs) {
        stay(now_ns);
      }
      return;
    }
    leaving_->epoch = around_.pipeline.end_epoch();
  }
  if (around_.pipeline.passed() < leaving_->epoch) {
    return;
  }
  const Leaving leaving = *std::exchange(leaving_, std::nullopt);
  open_ = false;
  shard_.leave(leaving.to);
}

void HostedShard::stay(std::uint64_t now_ns) {
  leaving_.reset();
  open_since_ns_ = now_ns;
  ++counters_.stayed;
  around_.info(name() +
               ": stays here for now: writes that began before it was to be handed over have not ended in " +
               std::to_string(kMostLeavingNs / 1'000'000) + " ms");
}

void HostedShard::settle() {
  const std::uint64_t now_ns = around_.clock.monotonic_ns();
  if (drop_at_ && around_.pipeline.passed() >= *drop_at_) {
    MXKV_ASSERT(!clean_at_, "one drop of a shard's memory is under way");
    drop_at_.reset();
    around_.memory.drop(id_, around_.routes.begin_of(id_), around_.routes.end_of(id_));
    clean_at_ = around_.memory.begun(id_);
  }
  if (clean_at_ && around_.memory.finished(id_) >= *clean_at_) {
    clean_at_.reset();
    if (std::exchange(owes_clean_, false)) {
      around_.pipeline.found_clean();
    }
  }
  if (loading_ && !drop_at_) {
    load(now_ns);
  }
  if (leaving_) {
    go_on_leaving(now_ns);
  }
  if (held_void_ && !open_ && shard_.now() == Shard::role::follows) {
    held_void_ = false;  // all submitted records were acknowledged before the yield
    around_.info(name() + ": handed over to another node");
  }
  if (!drop_at_ && around_.memory.failed(id_)) {
    give_up_copy(now_ns);
  }
  if (open_at_ && !loading_ && !clean_at_ && around_.pipeline.counts_again(id_) && shard_.serves() &&
      around_.memory.finished(id_) >= *open_at_ && !around_.memory.failed(id_)) {
    MXKV_ASSERT(shard_.state().owner() == options_.node,
                "requests are let in by the owner that the log names");
    open_at_.reset();
    has_all();
    open_ = held_void_ = was_here_ = true;
    freshness_.withdraw();
    open_since_ns_ = now_ns;
    around_.info(name() + ": serves");
  }
  if (taking_ != nullptr) {
    go_on_taking();
  }
  assert_state();
  show_freshness(now_ns);
  show_route();
}

void HostedShard::assert_state() const noexcept {
  MXKV_ASSERT(!open_ || shard_.now() == Shard::role::owns, "requests are let in by the owner alone");
  MXKV_ASSERT(!open_ || (held_void_ && !loading_ && !drop_at_ && !clean_at_ && !open_at_),
              "what is open is loaded, clean, and may hold what is void");
  MXKV_ASSERT(!leaving_ || open_, "what is being left is open until it is");
  MXKV_ASSERT(loader_ == nullptr || (loading_ && !drop_at_),
              "a snapshot is loaded into memory that is empty");
  MXKV_ASSERT(!drop_at_ || (loading_ && !held_void_), "what is thrown away is loaded again");
  MXKV_ASSERT(!owes_clean_ || drop_at_ || clean_at_, "the pipeline waits for a drop that is under way");
}

void HostedShard::tick(bool reads) {
  if (!loading_ && !around_.memory.failed(id_)) {
    shard_.tick(reads, around_.lives(shard_.state().owner(), id_));
  }
}

bool HostedShard::replicates() const noexcept {
  const Shard::role role = shard_.now();
  return !loading_ && !clean_at_ && !open_ && !held_void_ &&
         (role == Shard::role::follows || role == Shard::role::claims) && !around_.memory.failed(id_);
}

// Runs before show_route(): once the route says that the shard is here, memory may hold unacknowledged
// changes.
void HostedShard::show_freshness(std::uint64_t now_ns) {
  if (options_.fresh_ns == 0) {
    return;
  }
  if (replicates()) {
    freshness_.settle({.ns = now_ns,
                       .heard_ns = shard_.heard_ns(),
                       .position = shard_.position(),
                       .begun = around_.memory.begun(id_),
                       .finished = around_.memory.finished(id_)},
                      *log_);
  }
  // Asked afterwards: memory may have skipped records that a call just counted as applied.
  if (!replicates()) {
    freshness_.withdraw();
  }
  around_.routes.set_fresh_from(id_, freshness_.from_ns());
}

// While the shard is not loaded, the node routes it by the words of others (ClusterNode::route_others()).
void HostedShard::show_route() {
  if (loading_) {
    return;
  }
  if (open_ && !leaving_) {
    around_.routes.set_lease(id_, shard_.lease_until_ns());
    around_.routes.set(id_, {.where = Route::to::here});
    return;
  }
  const std::uint64_t owner = shard_.state().owner();
  if (leaving_ || owner == options_.node || owner == 0 || shard_.state().left_to() != 0 ||
      shard_.now() == Shard::role::owns || shard_.now() == Shard::role::leaves) {
    around_.routes.set(id_, {});
    return;
  }
  std::string address = shard_.owner_address();
  if (address.empty()) {
    address = around_.address_of(owner);
  }
  around_.routes.set(
      id_, address.empty() ? Route{} : Route{.where = Route::to::peer, .peer = around_.routes.peer(address)});
}

}  // namespace mxkv::server
