// Sentences about a journal that is not whole: which file, which byte, what was lost, what to do.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/journal/journal_end.hpp"
#include "server/journal/segment_scan.hpp"

namespace mxkv::server {

/// What proves that an epoch was on disk: a later epoch, and the greatest one known to be there then.
struct LaterEpoch {
  std::uint64_t epoch = 0;
  std::uint64_t durable = 0;
  std::string_view begun_in{};  ///< the file that begins with the epoch, if it has no group of it
};

/// "PATH: damaged at byte 8392704 (epoch 5123), although epoch 5130 is whole. 7 epochs that were acknowledged
/// are affected"
[[nodiscard]] std::string damaged_text(const SegmentScan& scan, std::uint64_t missing,
                                       const LaterEpoch& later);
/// No file has the epochs from `missing` on, but `next` goes on behind them.
[[nodiscard]] std::string missing_text(const SegmentScan& next, std::uint64_t missing);
/// The segment that the journal ends in is not there, or has no header. `whole`: the last epoch that is there.
[[nodiscard]] std::string lost_end_text(const JournalEnd& end, std::span<const SegmentScan> scans,
                                        std::uint64_t whole);
/// The groups end in `scan` with epoch `whole`, before the journal's end.
[[nodiscard]] std::string short_end_text(const SegmentScan& scan, std::uint64_t whole, const JournalEnd& end);

/// What can be done about damage.
enum class remedy : std::uint8_t {
  backup,        ///< nothing stands before it that a start could go on with
  prefix,        ///< a start may go on with what stands before
  prefix_taken,  ///< this one does
};
/// How such a sentence ends.
[[nodiscard]] std::string_view what_to_do(remedy what) noexcept;
/// "PATH: cut at byte 8392704 (epoch 5123), which was being written when it ended: a block does not ..."
[[nodiscard]] std::string torn_text(const SegmentScan& scan, std::uint64_t epoch);

}  // namespace mxkv::server
