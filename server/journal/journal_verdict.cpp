#include "server/journal/journal_verdict.hpp"

#include <algorithm>
#include <functional>

#include "runtime/base/assert.hpp"
#include "server/journal/damage_text.hpp"

namespace mxkv::server {
namespace {

/// Walks the segments once, in order, with the epoch that has to be next.
class Judge {
  using state = SegmentScan::state;

 public:
  Judge(std::span<const SegmentScan> scans, const JournalExpectations& expectations)
      : scans_(scans), expectations_(expectations) {
    MXKV_ASSERT(expectations.from_epoch > 0, "epochs are numbered from 1");
    MXKV_ASSERT(std::ranges::is_sorted(scans, std::less<>{}, &SegmentScan::number),
                "segments come in their order");
    verdict_.last_epoch = expectations.from_epoch - 1;
  }

  JournalVerdict pass() {
    if (may_be_read()) {
      find_live();
      if (find_begin()) {
        walk();
        judge_reach();
      }
    }
    if (verdict_.usable() && verdict_.last_epoch < expectations_.needs_epoch) {
      end_damaged("the journal ends with epoch " + std::to_string(verdict_.last_epoch));
    }
    note_unused();
    return std::move(verdict_);
  }

 private:
  /// Ends the journal before the missing epoch, if the options allow it and a start needs no later one. Else
  /// refuses the journal. The message advises only a remedy that helps.
  void end_damaged(std::string why) {
    MXKV_ASSERT(!why.empty() && verdict_.damage.empty(), "the first damage is the one to tell");
    if (verdict_.last_epoch < expectations_.needs_epoch) {
      verdict_.damage = std::move(why) + ". The checkpoint needs them up to epoch " +
                        std::to_string(expectations_.needs_epoch) + std::string{what_to_do(remedy::backup)};
      return;
    }
    (expectations_.recover_prefix ? verdict_.left_out : verdict_.damage) =
        std::move(why) +
        std::string{what_to_do(expectations_.recover_prefix ? remedy::prefix_taken : remedy::prefix)};
  }

  /// A file of another format or directory, or a renamed one, is refused, but not as damage.
  bool may_be_read() {
    for (const SegmentScan& scan : scans_) {
      const bool renamed =
          scan.header_is == state::misnamed && scan.header.number >= expectations_.first_segment;
      if (is_needed(scan) &&
          (scan.header_is == state::newer || scan.header_is == state::foreign || renamed)) {
        verdict_.damage = scan.path + ": " + scan.complaint;
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool is_needed(const SegmentScan& scan) const {
    return scan.number >= expectations_.first_segment;
  }

  /// Finds the segments whose groups may count.
  void find_live() {
    limits_.assign(scans_.size(), ~std::uint64_t{0});
    std::uint64_t limit = ~std::uint64_t{0};
    for (std::size_t i = scans_.size(); i-- > 0;) {
      limits_[i] = limit;
      const SegmentScan& scan = scans_[i];
      if (is_needed(scan) && scan.header_is == state::good && scan.header.first_epoch < limit) {
        live_.push_back(i);
        limit = scan.header.first_epoch;
      }
    }
    std::reverse(live_.begin(), live_.end());
  }

  /// Finds the segment with the first epoch that is needed.
  bool find_begin() {
    const auto behind = std::find_if(live_.begin(), live_.end(), [this](std::size_t i) {
      return scans_[i].header.first_epoch > expectations_.from_epoch;
    });
    if (behind == live_.begin() && !live_.empty()) {
      const SegmentScan& first = scans_[live_.front()];
      const SegmentScan* const headless = without_header(0, live_.front());
      const LaterEpoch begun{first.header.first_epoch, first.header.first_epoch - 1, first.path};
      verdict_.damage = headless != nullptr ? damaged_text(*headless, expectations_.from_epoch, begun)
                                            : missing_text(first, expectations_.from_epoch);
      verdict_.damage += what_to_do(remedy::backup);
      return false;
    }
    live_.erase(live_.begin(), behind == live_.begin() ? behind : behind - 1);
    return true;
  }

  void walk() {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      const SegmentScan& scan = scans_[live_[i]];
      if (i == 0) {
        next_ = scan.header.first_epoch;
        verdict_.chain = scan.header.chain_before;
      } else if (!joins(i)) {
        return;
      }
      take_groups(live_[i]);
      if (i + 1 == live_.size()) {
        judge_end(scan);
      }
    }
    if (live_.empty()) {
      next_ = expectations_.from_epoch;
    }
    if (verdict_.usable() && verdict_.left_out.empty()) {
      judge_headless();
    }
  }

  /// Whether a segment continues from the last group.
  bool joins(std::size_t i) {
    const SegmentScan& scan = scans_[live_[i]];
    if (scan.header.after_gap) {
      judge_gap(i);
      return false;
    }
    if (next_ < scan.header.first_epoch) {
      judge_missing(i);
      return false;
    }
    if (scan.header.chain_before != verdict_.chain) {
      end_damaged(
          scan.path +
          ": its epochs go on from the segment before it, but that is not the one it was written behind");
      return false;
    }
    return true;
  }

  void take_groups(std::size_t segment) {
    const SegmentScan& scan = scans_[segment];
    JournalVerdict::Part part{segment, 0, kPageBytes};
    for (const ScannedGroup& group : scan.groups) {
      if (group.epoch >= limits_[segment]) {
        break;
      }
      ++part.groups;
      part.end = group.end;
      verdict_.chain = group.chain;
      verdict_.ceiling = std::max(verdict_.ceiling, group.ceiling);
      verdict_.newest_unix_us = std::max(verdict_.newest_unix_us, group.unix_us);
      next_ = group.epoch + 1;
    }
    verdict_.last_epoch = std::max(verdict_.last_epoch, next_ - 1);
    MXKV_ASSERT(verdict_.parts.empty() || verdict_.parts.back().segment < segment,
                "segments are taken in order");
    verdict_.parts.push_back(part);
  }

  /// Ends the journal before a segment that comes after a gap, unless more than the gap is missing.
  void judge_gap(std::size_t i) {
    const LaterEpoch proof = proof_from(i);
    if (proof.durable >= next_) {
      end_damaged(damaged_text(scans_[live_[i - 1]], next_, proof));
      return;
    }
    verdict_.gap =
        scans_[live_[i]].path +
        ": comes after a write that failed, and no checkpoint was begun behind that; ends with epoch " +
        std::to_string(next_ - 1);
  }

  /// The groups of the segment before end, but this segment's epochs begin later.
  void judge_missing(std::size_t i) {
    const SegmentScan& before = scans_[live_[i - 1]];
    const SegmentScan& next = scans_[live_[i]];
    if (const SegmentScan* const headless = without_header(live_[i - 1] + 1, live_[i])) {
      end_damaged(damaged_text(*headless, next_, proof_from(i)));
    } else if (next.number > before.number + 1 && !before.torn && before.later_durable < next_) {
      end_damaged(missing_text(next, next_));
    } else {
      end_damaged(damaged_text(before, next_, proof_from(i)));
    }
  }

  /// The first needed segment without a header in [from, to).
  [[nodiscard]] const SegmentScan* without_header(std::size_t from, std::size_t to) const {
    for (std::size_t i = from; i < to; ++i) {
      if (is_needed(scans_[i]) && scans_[i].header_is == state::no_header) {
        return &scans_[i];
      }
    }
    return nullptr;
  }

  /// The latest epoch that proves that the next one was on disk.
  [[nodiscard]] LaterEpoch proof_from(std::size_t i) const {
    const SegmentScan& before = scans_[live_[i - 1]];
    LaterEpoch proof{before.later_epoch, before.later_durable, {}};
    const auto consider = [&proof](const LaterEpoch& later) {
      proof = later.durable >= proof.durable ? later : proof;
    };
    bool after_gap = false;
    for (std::size_t j = i; j < live_.size(); ++j) {
      const SegmentScan& later = scans_[live_[j]];
      // A segment is begun when those before it are on disk, unless it comes after a gap. Later segments have
      // the gap before them, too: from then on only commit blocks prove anything.
      after_gap = after_gap || later.header.after_gap;
      const std::uint64_t known = after_gap ? 0 : later.header.first_epoch - 1;
      consider({later.header.first_epoch, known, later.path});
      if (!later.groups.empty()) {
        consider({later.groups.back().epoch, std::max(later.groups.back().durable, known), {}});
      }
      consider({later.later_epoch, later.later_durable, {}});
    }
    return proof;
  }

  /// Judges the bytes behind the groups of the last segment.
  void judge_end(const SegmentScan& scan) {
    if (scan.later_epoch != 0 && scan.later_durable >= next_) {
      end_damaged(damaged_text(scan, next_, {scan.later_epoch, scan.later_durable, {}}));
    } else if (scan.torn) {
      verdict_.torn = torn_text(scan, next_);
    }
  }

  /// A segment without a header holds no data, unless one of its commit blocks proves otherwise.
  void judge_headless() {
    for (const SegmentScan& scan : scans_) {
      if (scan.header_is != state::good && is_needed(scan) && scan.later_epoch != 0 &&
          scan.later_durable >= next_) {
        end_damaged(damaged_text(scan, next_, {scan.later_epoch, scan.later_durable, {}}));
        return;
      }
    }
  }

  /// Whether the journal reaches its known end.
  void judge_reach() {
    const JournalEnd& end = expectations_.end;
    if (end.segment == 0 || !verdict_.usable() || !verdict_.left_out.empty()) {
      return;
    }
    const auto last = std::find_if(scans_.begin(), scans_.end(), [&end](const SegmentScan& scan) {
      return scan.number == end.segment && scan.header_is == state::good;
    });
    if (last == scans_.end()) {
      end_damaged(lost_end_text(end, scans_, verdict_.last_epoch));
    } else if (verdict_.last_epoch < end.epoch) {
      const std::size_t where = verdict_.parts.empty() ? static_cast<std::size_t>(last - scans_.begin())
                                                       : verdict_.parts.back().segment;
      end_damaged(short_end_text(scans_[where], verdict_.last_epoch, end));
    }
  }

  void note_unused() {
    for (std::size_t i = 0; i < scans_.size(); ++i) {
      const bool used = std::any_of(verdict_.parts.begin(), verdict_.parts.end(),
                                    [i](const auto& part) { return part.segment == i; });
      if (!used) {
        verdict_.unused.push_back(i);
      }
    }
  }

  std::span<const SegmentScan> scans_;
  const JournalExpectations& expectations_;
  JournalVerdict verdict_;
  std::vector<std::uint64_t> limits_;  ///< of each scan: its groups count below this epoch
  std::vector<std::size_t> live_;      ///< indexes of scans, in order
  std::uint64_t next_ = 0;             ///< the epoch that has to come next
};

}  // namespace

JournalVerdict judge_journal(std::span<const SegmentScan> scans, const JournalExpectations& expectations) {
  return Judge(scans, expectations).pass();
}

}  // namespace mxkv::server
