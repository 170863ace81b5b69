// Bytes of one file on a disk that loses power: as they were written, and as they are on disk for certain.
//
// Bytes written since the last sync are uncertain, a sector of 512 bytes at a time. After a sync that failed
// the sectors count as clean, as Linux has it: later syncs succeed, and do not write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>

namespace mxkv::test {

/// Thread-safety: one thread at a time.
class SimFile {
 public:
  static constexpr std::size_t kSectorBytes = 512;

  [[nodiscard]] const std::string& bytes() const noexcept { return now_; }

  void write(std::uint64_t offset, std::string_view bytes);
  void extend(std::uint64_t bytes);
  void truncate(std::uint64_t bytes);
  void sync();
  void fail_sync();
  /// Each uncertain sector becomes the old one, the new one, or garbage.
  void cut(std::mt19937_64& random);

 private:
  /// How the sectors of one cut come out: alike, in order, or each for itself.
  enum class fate : std::uint8_t { old, fresh, first_ones, mixed };

  [[nodiscard]] std::string cut_sector(std::size_t sector, std::string_view old,
                                       std::mt19937_64& random) const;

  std::string now_;
  std::string durable_;
  std::set<std::size_t> dirty_;    ///< sectors that the next sync writes
  std::set<std::size_t> dropped_;  ///< sectors that no sync writes unless they are written again
};

}  // namespace mxkv::test
