// The one point that every change of a tree passes, with its description.
//
// A task does not store into a leaf by itself. It describes the change (Change), the index stores it and
// passes it here (Commit), both under the leaf's latch; so no change is forgotten, and none is named without
// being made. Operations on a whole range, and operations that empty the tree, pass once, between their passes.
//
//   put             the key has another record now, with an order of its own
//   gone            the key has no record any more: deleted, evicted or expired; or had none but within its group
//   touched         the record is the same version, but expires at another time
//   range_gone      all records of a range with an order up to the operation's are gone
//   range_touched   all records of a range with an order up to the operation's expire at another time
//   flushed         all records with an order up to the operation's are gone, once its moment has come
//   part            belongs to an operation that passes, or passed, as a whole
//   unseen          no client can see it, or an order of it: a copy in another place, an entry without effect
//
// An operation that changes many keys at once and names each of them passes as a *group*, between its passes
// too. The keys' own commits are parts then.
//
// *First passed, then seen*: a change passes before any reader can meet it, and an order that no record holds
// is in the leaf's floor before. A change in place passes with the values that the record is going to have.
//
// *Order*: every change of a key, operations on its range included, has a greater order than the ones before.
// A put's order is in its record. The order of a gone or touched entry is in no record, so the leaf's
// order floor is raised to it, and later orders are minted above the floor. An operation on a range claims an
// order of its own above all that it follows, and raises the tree's floor to it, before it lets go of the
// range.
//
// Without a listener a change costs one predictable branch. A listener may come and go while the workers run.
// A task that runs meanwhile may pass its change to the old or to the new one, so the thread that changes the
// listener waits until each worker has begun another round. A group passes to one listener as a whole.
//
// Thread-safety: pass() on any worker, under the latch of the node that changes, or while the keys are held;
// listen() by one thread; the floor by any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/assert.hpp"

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::index {

enum class change : std::uint8_t {
  put,
  gone,
  touched,
  range_gone,
  range_touched,
  flushed,
  part,
  unseen,
};
inline constexpr unsigned kChanges = 8;

/// Why a key has no record any more.
enum class cause : std::uint8_t { none, deleted, evicted, expired };

/// A task's description of a change to one entry.
struct Change {
  change what = change::unseen;
  cause why = cause::none;
  std::uint8_t marks = 0;    ///< touched: the record's future marks
  std::uint32_t expiry = 0;  ///< touched: the record's future expiry
  std::uint64_t order = 0;   ///< of a part or unseen change: a floor for later orders, or 0

  [[nodiscard]] static Change of(change what, std::uint64_t order, cause why = cause::none) noexcept {
    return {.what = what, .why = why, .order = order};
  }
  [[nodiscard]] static Change put(std::uint64_t order) noexcept { return of(change::put, order); }
  [[nodiscard]] static Change gone(cause why, std::uint64_t order) noexcept {
    return of(change::gone, order, why);
  }
  [[nodiscard]] static Change touched(std::uint64_t order, std::uint32_t expiry,
                                      std::uint32_t marks) noexcept {
    return {
        .what = change::touched, .marks = static_cast<std::uint8_t>(marks), .expiry = expiry, .order = order};
  }
  /// `order`: no order up to it may be minted again; 0 where the record holds its order itself.
  [[nodiscard]] static Change part(std::uint64_t order) noexcept { return of(change::part, order); }
  [[nodiscard]] static Change unseen(std::uint64_t order = 0) noexcept { return of(change::unseen, order); }

  /// Whether the order is in no record: the leaf has to remember it.
  [[nodiscard]] bool raises_floor() const noexcept { return what != change::put && order != 0; }
};

/// The meaning of `to` in a range: none, the last key, the first key behind it, or the prefix of all keys.
enum class far_end : std::uint8_t { none, inclusive, exclusive, prefix };

/// The keys of an operation on a range, from `from` on up to the first key that is `beyond`; `to` says the
/// same.
template <class Key>
struct ChangedRange {
  Key from{};
  Key to{};
  far_end far = far_end::none;
  bool skips_from = false;
  const void* context = nullptr;
  bool (*beyond)(const void* context, Key key) = nullptr;
};

/// A change as it passes the point.
template <class Key>
struct Commit {
  Change change;
  Key key{};                    ///< of one entry
  std::uint64_t value = 0;      ///< put, touched by a copy: the record's word; range_touched: the new expiry
  std::uint64_t old = 0;        ///< the word before, of an entry that was there
  std::uint64_t moment_us = 0;  ///< of a range: at which records are judged; flushed: its moment, 0: at once
  std::uint64_t set_us = 0;     ///< flushed, later: when it was ordered
  const ChangedRange<Key>* range = nullptr;  ///< range_gone, range_touched
};

/// Follows a tree's changes. Runs under latches: it may not fail, wait or look at the tree.
template <class Key>
class CommitListener {
 public:
  virtual ~CommitListener() = default;
  virtual void passed(const Commit<Key>& commit, runtime::Worker& worker) noexcept = 0;
  /// The commits that pass on this worker in between are one change. Groups are not empty, and do not nest.
  virtual void group_begins(runtime::Worker& /*worker*/) noexcept {}
  virtual void group_ends(runtime::Worker& /*worker*/) noexcept {}
};

/// Commits of one worker that are one change. The worker runs nothing else meanwhile.
template <class Key>
class CommitGroup {
 public:
  CommitGroup(CommitListener<Key>* listener, runtime::Worker& worker) noexcept
      : listener_(listener), worker_(worker) {}
  ~CommitGroup() {
    if (begun_) {
      listener_->group_ends(worker_);
    }
  }
  CommitGroup(const CommitGroup&) = delete;
  CommitGroup& operator=(const CommitGroup&) = delete;

  void pass(const Commit<Key>& commit) noexcept {
    if (listener_ == nullptr) {
      return;
    }
    if (!begun_) {
      begun_ = true;
      listener_->group_begins(worker_);
    }
    listener_->passed(commit, worker_);
  }

 private:
  CommitListener<Key>* const listener_;
  runtime::Worker& worker_;
  bool begun_ = false;
};

template <class Key>
class CommitPoint {
 public:
  /// Null: nobody listens. Release, pairs with listener(): the listener's state is complete.
  void listen(CommitListener<Key>* listener) noexcept {
    listener_.store(listener, std::memory_order_release);
  }

  /// Whether there is a listener: only then a Commit has to be made. Relaxed: pass() looks once more.
  [[nodiscard]] bool heard() const noexcept { return listener_.load(std::memory_order_relaxed) != nullptr; }
  [[gnu::always_inline]] void pass(const Commit<Key>& commit, runtime::Worker& worker) const noexcept {
    if (CommitListener<Key>* const heard_by = listener()) [[unlikely]] {
      MXKV_ASSERT(commit.change.order != 0 || commit.change.what == change::unseen ||
                      commit.change.what == change::part,
                  "a change has an order");
      heard_by->passed(commit, worker);
    }
  }
  /// A group for the listener of now.
  [[nodiscard]] CommitGroup<Key> group(runtime::Worker& worker) const noexcept {
    return CommitGroup<Key>{listener(), worker};
  }

  /// Orders are minted above this. Relaxed: the gate that an operation opens orders it before later writes.
  [[nodiscard]] std::uint64_t floor() const noexcept { return floor_.load(std::memory_order_relaxed); }
  void raise_floor(std::uint64_t order) noexcept {
    std::uint64_t floor = floor_.load(std::memory_order_relaxed);
    while (floor < order && !floor_.compare_exchange_weak(floor, order, std::memory_order_relaxed)) {
    }
  }
  /// Raises the floor to `order` or a little more. Returns it: no other call has the same.
  [[nodiscard]] std::uint64_t claim(std::uint64_t order) noexcept {
    std::uint64_t floor = floor_.load(std::memory_order_relaxed);
    std::uint64_t claimed = 0;
    do {
      claimed = order > floor ? order : floor + 1;
    } while (!floor_.compare_exchange_weak(floor, claimed, std::memory_order_relaxed));
    return claimed;
  }

 private:
  [[nodiscard]] CommitListener<Key>* listener() const noexcept {
    return listener_.load(std::memory_order_acquire);  // pairs with listen()
  }

  std::atomic<CommitListener<Key>*> listener_{nullptr};
  std::atomic<std::uint64_t> floor_{0};
};

}  // namespace mxkv::index
