// The group of one epoch, from the blocks of all workers to the pieces of one write.
//
// It can be sealed again for another place, if the disk had no room for it at the first. Thread-safety: one
// thread, the writer's.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/ids.hpp"
#include "server/commit/record_block.hpp"
#include "server/journal/block.hpp"

namespace mxkv::server {

class JournalGroup {
 public:
  /// Empties the group, for `epoch`.
  void begin(std::uint64_t epoch) noexcept;
  /// Appends a block of this epoch. The block stays in place until the next begin().
  void add(RecordBlock& block, runtime::WorkerId worker);

  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  /// Bytes on disk, with padding.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return round_up_to_page(raw_bytes_); }

  /// Prepares the group for `offset` of a file whose blocks have `seed`, behind a group with this chain. The
  /// caller sets durable, ceiling and unix_us of `commit`. Returns the new chain.
  std::uint64_t seal(std::uint64_t offset, std::uint64_t seed, std::uint64_t chain, CommitMark commit);
  /// The pieces to write, in order. Valid until the next call of another member.
  [[nodiscard]] std::span<const iovec> pieces() const noexcept { return pieces_; }

 private:
  struct Added {
    RecordBlock* block;
    runtime::WorkerId worker;
  };

  void append(std::string_view bytes);
  void seal_records(const Added& added);
  void seal_value(const ApartValue& value, runtime::WorkerId worker);
  void seal_part(std::span<const std::string_view> part, runtime::WorkerId worker);
  void link(const BlockHeader& header);

  std::uint64_t epoch_ = 0;
  std::uint64_t raw_bytes_ = 0;  ///< without padding
  std::uint64_t records_ = 0;
  std::size_t parts_ = 0;  ///< blocks of values apart
  std::vector<Added> added_;
  std::vector<iovec> pieces_;
  std::vector<char> headers_;  ///< of the blocks of values apart
  std::vector<std::string_view> value_;
  char commit_[kCommitBlockBytes];

  // While it is sealed.
  std::uint64_t seed_ = 0;
  std::uint64_t at_ = 0;  ///< offset of the next block
  std::uint64_t chain_ = 0;
  std::uint32_t index_ = 0;
};

}  // namespace mxkv::server
