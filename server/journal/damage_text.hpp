// Sentences about a journal that is not whole: which file, which byte, what was lost, what to do.
#pragma once

#include <cstdint>
#include <string>

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
/// How such a sentence ends: what can be done, or what is.
[[nodiscard]] std::string_view what_to_do(bool recover_prefix) noexcept;
/// "PATH: cut at byte 8392704 (epoch 5123), which was being written when it ended: a block does not ..."
[[nodiscard]] std::string torn_text(const SegmentScan& scan, std::uint64_t epoch);

}  // namespace mxkv::server
