// The changes of a server with a directory, read from its journal's segments behind the writer.
//
// The writer puts groups into the page cache by plain writes, so the recent ones are read from memory: no copy is kept
// in the process, and the writer knows nothing of its readers. Only epochs that are durable are read. A group that was
// written is never changed, but its file may be recycled for later groups while it is read. So a group counts only if
// its commit block, its blocks and the chain of hashes are right; the hashes depend on the segment's number.
//
//   segment 17   first epoch 100: 100 101 .. 163 | bytes that no longer count
//   segment 18   first epoch 164: 164 165 ..       its header has the chain of 163
//
// Where a group is not whole although it is durable, the segment that begins with its epoch follows, if it continues the
// chain. Else some changes are gone: they were trimmed, a write failed (`after_gap`), or the disk is damaged.
//
// Notes of reads, which an orderly end writes, are no changes and are left out.
//
// Segments of format 1 have no marks of batches, so what they hold is too old.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/commit/position.hpp"
#include "server/feed/change_source.hpp"
#include "server/journal/disk.hpp"
#include "server/journal/group_scan.hpp"
#include "server/journal/segment_header.hpp"

namespace mxkv::server {

struct TailOptions {
  std::string folder = "journal";  ///< of the Disk
  DirectoryId directory{};
  Lineage lineage{};  ///< with this process's tag
  /// The last durable epoch. Any thread.
  std::function<std::uint64_t()> durable;
  /// The last epoch that a position of this process may name: the last one closed. Any thread.
  std::function<std::uint64_t()> closed;
};

/// Thread-safety: one thread at a time, except tag() and through(). Several tails may read one journal.
class JournalTail final : public ChangeSource {
 public:
  /// The journal has begun. `disk` outlives this.
  JournalTail(Disk& disk, TailOptions options);

  [[nodiscard]] std::uint64_t tag() const noexcept override { return options_.lineage.tag(); }
  [[nodiscard]] std::uint64_t through() const noexcept override { return options_.durable(); }
  [[nodiscard]] Position oldest() const override;
  [[nodiscard]] position_state seek(const Position& position) override;
  std::uint64_t seek_end() override;
  [[nodiscard]] outcome next(ChangeEpoch& to) override;

  /// Why next() answered `old`, for a log: "journal/0000000000000011.mxj: epoch 51 ...".
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 private:
  /// A segment whose groups from its first epoch up to `limit` count.
  struct Live {
    SegmentHeader header;
    std::uint64_t limit = 0;
  };

  /// Where a reader left a segment: behind the group of `epoch`.
  struct Place {
    std::uint64_t number = 0;
    std::uint64_t epoch = 0;
    std::uint64_t offset = 0;
    std::uint64_t chain = 0;
  };
  /// About as many readers as may take turns without a walk from a segment's first group each time.
  static constexpr std::size_t kMostPlaces = 256;

  [[nodiscard]] bool read_header(std::uint64_t number, SegmentHeader& header) const;
  [[nodiscard]] std::vector<Live> live_segments() const;
  void leave();
  [[nodiscard]] bool open(std::uint64_t epoch);
  [[nodiscard]] bool skip_to(std::uint64_t first, std::uint64_t epoch);
  [[nodiscard]] const char* read_mark(CommitMark& mark, std::uint64_t epoch);
  [[nodiscard]] const char* read_group(std::uint64_t epoch, ScannedGroup& group);
  [[nodiscard]] const char* try_group(std::uint64_t epoch, ScannedGroup& group);
  [[nodiscard]] std::string_view window(std::uint64_t bytes);
  [[nodiscard]] bool take(const ScannedGroup& group, ChangeEpoch& to);
  bool fail(std::uint64_t epoch, std::string_view why);

  Disk& disk_;
  TailOptions options_;
  std::uint64_t at_;          ///< the last epoch that next() gave, or passed over
  bool has_chain_ = false;    ///< chain_ is the chain of at_
  std::uint64_t chain_ = 0;   ///< of the group before offset_
  std::uint64_t number_ = 0;  ///< of the segment
  std::uint64_t limit_ = 0;   ///< its groups count below this epoch
  std::uint64_t seed_ = 0;
  std::uint64_t offset_ = 0;  ///< in the segment, of the next group
  std::unique_ptr<DiskReader> file_;
  std::vector<char> buffer_;
  std::uint64_t buffer_at_ = 0;     ///< offset in the segment of the buffer's first byte
  std::size_t buffer_bytes_ = 0;    ///< that were read
  std::deque<std::string> joined_;  ///< values apart of several pieces
  std::deque<Place> places_;        ///< the latest last
  mutable std::map<std::uint64_t, SegmentHeader> headers_;  ///< by number: no number gets another header
  std::string why_;
};

}  // namespace mxkv::server
