// How fresh the memory of a shard is that this node follows: what reads at a replica rely on.
//
// A follower does not know what it has not heard of. So it asks the log how far it goes, and waits until it has read,
// and put into memory, all before the answer: then memory holds all that was acknowledged, by anybody, before the moment
// at which it ASKED. That moment is of its own monotonic clock, so that no two clocks are compared.
//
// An engine may be split, and a leader that was replaced may not know it: it goes on answering, with the end of a log
// that has no other. Nobody's beats arrive in that one. So a moment counts only while the owner is heard of. What stood
// in the log before is no sign of life, however late it is read: that is only what is read from behind an end that was
// told before.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "server/cluster/applied_memory.hpp"
#include "server/cluster/ordered_log.hpp"

namespace mxkv::server {

/// What a proof breaks, to see that it would notice.
struct FreshnessRules {
  bool counts_from_asking = true;  ///< else from the answer
  bool waits_for_memory = true;    ///< until what was read is in it
};

/// Of one shard. Thread-safety: the cluster's thread.
class Freshness {
 public:
  /// What it is at this moment.
  struct Now {
    std::uint64_t ns = 0;        ///< monotonic clock
    std::uint64_t heard_ns = 0;  ///< when the owner was heard of
    LogPosition position = 0;    ///< all before it was read
  };

  /// Asks each `period_ns`, and trusts an owner that was heard of within `lease_ns`.
  Freshness(std::uint64_t period_ns, std::uint64_t lease_ns, FreshnessRules rules)
      : period_ns_(period_ns), lease_ns_(lease_ns), rules_(rules) {}

  void set_lease(std::uint64_t lease_ns) noexcept { lease_ns_ = lease_ns; }
  /// Memory is not the log's any more, or not alone: what is under way is nothing.
  void withdraw() noexcept;
  /// To be called whenever something may have moved, while memory is the log's. `log` outlives what is asked, and so does
  /// this; answers come on the same thread.
  void settle(const Now& now, OrderedLog& log, const AppliedMemory& memory);

  /// All that was acknowledged before then is in memory; monotonic clock. 0: nothing is known.
  [[nodiscard]] std::uint64_t from_ns() const noexcept { return from_ns_; }

 private:
  /// An end that was told, and when it was asked for.
  struct Told {
    std::uint64_t asked_ns = 0;
    LogPosition end = 0;
  };

  void take_end(LogPosition end);

  std::uint64_t period_ns_;
  std::uint64_t lease_ns_;
  FreshnessRules rules_;
  std::uint64_t from_ns_ = 0;
  std::uint64_t asked_ns_ = 0;  ///< the last time
  bool asks_ = false;           ///< and no answer yet
  std::uint64_t life_ = 0;      ///< answers of a former one are nobody's
  std::optional<LogPosition> end_;
  std::optional<std::uint64_t> applied_;  ///< read up to the end: once memory has come so far
  std::uint64_t counted_ns_ = 0;          ///< as from_ns(), if the log lives
  std::uint64_t lived_ns_ = 0;            ///< it did, or later; 0: nothing is known
  std::optional<Told> told_;              ///< it lives once something is read from behind that
};

}  // namespace mxkv::server
