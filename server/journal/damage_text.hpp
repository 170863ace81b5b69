// Messages about a damaged journal: which file, which byte, which epochs are lost, what to do.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/journal/journal_end.hpp"
#include "server/journal/segment_scan.hpp"

namespace mxkv::server {

/// Proves that an epoch was on disk: a later epoch, and the greatest epoch that it knows to be on disk.
struct LaterEpoch {
  std::uint64_t epoch = 0;
  std::uint64_t durable = 0;
  std::string_view begun_in{};  ///< the file that begins with the epoch, if that has no group of it
};

/// "PATH: damaged at byte 8392704 (epoch 5123), although epoch 5130 is whole. 7 epochs that were acknowledged
/// are affected"
[[nodiscard]] std::string damaged_text(const SegmentScan& scan, std::uint64_t missing,
                                       const LaterEpoch& later);
/// No file has the epochs from `missing` on, but `next` continues behind them.
[[nodiscard]] std::string missing_text(const SegmentScan& next, std::uint64_t missing);
/// The segment in which the journal ends is missing, or has no header. `whole`: the last whole epoch.
[[nodiscard]] std::string lost_end_text(const JournalEnd& end, std::span<const SegmentScan> scans,
                                        std::uint64_t whole);
/// The groups end in `scan` with epoch `whole`, before the journal's end.
[[nodiscard]] std::string short_end_text(const SegmentScan& scan, std::uint64_t whole, const JournalEnd& end);

/// How an operator can repair damage.
enum class remedy : std::uint8_t {
  backup,        ///< nothing before the damage is enough for a start
  prefix,        ///< a start may use the part before the damage
  prefix_taken,  ///< this start does so
};
/// The end of such a message.
[[nodiscard]] std::string_view what_to_do(remedy what) noexcept;
/// "PATH: cut at byte 8392704 (epoch 5123), which was being written when it ended: a block does not ..."
[[nodiscard]] std::string torn_text(const SegmentScan& scan, std::uint64_t epoch);

}  // namespace mxkv::server
