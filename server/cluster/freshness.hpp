// How fresh this node's memory of a followed shard is: reads at a replica rely on it.
//
// A follower does not know of messages that it has not received. So it asks the log for its end, reads up to
// that end, and applies all of it. Then memory holds every change that was acknowledged, to any client,
// before the moment at which it ASKED. That moment is read from its own monotonic clock, so no two clocks are
// compared.
//
// An engine may be split, and a replaced leader may not know it: it goes on answering with the end of a log
// that no longer grows. No owner's beats arrive in that log. So a moment counts only while the owner is
// heard. Messages that were in the log before are no sign of life, however late they are read. Only a message
// from behind an end that was stated earlier is one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "server/cluster/ordered_log.hpp"

namespace mxkv::server {

/// Rules that a proof breaks, to see that it notices.
struct FreshnessRules {
  bool counts_from_asking = true;  ///< else from the answer
  bool waits_for_memory = true;    ///< until memory has all messages up to the end
};

/// For one shard. Thread-safety: the cluster's thread.
class Freshness {
 public:
  /// The shard's present state.
  struct Now {
    std::uint64_t ns = 0;        ///< monotonic clock
    std::uint64_t heard_ns = 0;  ///< when the owner was last heard
    LogPosition position = 0;    ///< all before it has been read
    std::uint64_t begun = 0;     ///< as AppliedMemory states it, and the next
    std::uint64_t finished = 0;
  };

  /// Asks every `period_ns`, and trusts an owner that was heard within `lease_ns`.
  Freshness(std::uint64_t period_ns, std::uint64_t lease_ns, FreshnessRules rules)
      : period_ns_(period_ns), lease_ns_(lease_ns), rules_(rules) {}

  void set_lease(std::uint64_t lease_ns) noexcept { lease_ns_ = lease_ns; }
  /// Memory no longer has exactly the log's data: forgets the moment and the question under way.
  void withdraw() noexcept;
  /// Call this whenever something may have changed, while memory has exactly the log's data. `log`, and this
  /// object, outlive the question; the answer arrives on the same thread.
  void settle(const Now& now, OrderedLog& log);

  /// All changes acknowledged before this moment are in memory; monotonic clock. 0: nothing is known.
  [[nodiscard]] std::uint64_t from_ns() const noexcept { return from_ns_; }

 private:
  /// An end that the log stated, and the time of the question.
  struct Told {
    std::uint64_t asked_ns = 0;
    LogPosition end = 0;
  };

  void take_end(LogPosition end);

  std::uint64_t period_ns_;
  std::uint64_t lease_ns_;
  FreshnessRules rules_;
  std::uint64_t from_ns_ = 0;
  std::uint64_t asked_ns_ = 0;  ///< the time of the last question
  bool asks_ = false;           ///< a question is under way
  std::uint64_t life_ = 0;      ///< an answer for a former life is ignored
  std::optional<LogPosition> end_;
  std::optional<std::uint64_t> applied_;  ///< read up to the end; memory has to reach this call
  std::uint64_t counted_ns_ = 0;          ///< the next from_ns(), if the log lives
  std::uint64_t lived_ns_ = 0;            ///< the log lived then or later; 0: unknown
  std::optional<Told> told_;              ///< a message from behind this end proves that the log lives
};

}  // namespace mxkv::server
