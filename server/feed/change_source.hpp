// A source of changes: the log read as whole epochs, from a position on. The herald reads it and tells watches.
//
//   position     "behind epoch e of the lineage `tag`" (server/commit/position.hpp); none of these has a key
//   seek()       may that position be read on from?
//   next()       epoch e + 1, e + 2, ...: each once, in order, none left out
//
// A source gives an epoch only when it counts: once it is durable in the sense of `durability.sync`, or without a
// directory once it is closed. An epoch without records need not be given. `through` says how far the source has
// come, so that a mark may name an epoch without records.
//
// The records of an epoch come in any order. The records of one key sort by their order (index/commit_point.hpp).
// The records of a batch stand together and share a number.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/commit/position.hpp"
#include "server/commit/record.hpp"

namespace mxkv::server {

/// One record of an epoch. Its views refer to the source and are valid until the source's next call.
struct ChangeRecord {
  Record record;
  std::string_view apart{};  ///< the value of a put whose `apart_bytes` is not 0, in one piece
  std::uint32_t batch = 0;   ///< the same, other than 0, for all records of one batch; 0: no batch
};

/// All records of one epoch.
struct ChangeEpoch {
  std::uint64_t number = 0;
  std::vector<ChangeRecord> records;
};

/// Thread-safety: one thread at a time, except where a class says more.
class ChangeSource {
 public:
  virtual ~ChangeSource() = default;
  ChangeSource(const ChangeSource&) = delete;
  ChangeSource& operator=(const ChangeSource&) = delete;

  /// The lineage of new positions.
  [[nodiscard]] virtual std::uint64_t tag() const noexcept = 0;
  /// The last epoch that counts: next() has given it, will give it, or it has no records. Any thread.
  [[nodiscard]] virtual std::uint64_t through() const noexcept = 0;
  /// The oldest position from which seek() answers `ok` now.
  [[nodiscard]] virtual Position oldest() const = 0;

  /// Continues behind `position`. Not ok: the source stands where it stood.
  [[nodiscard]] virtual position_state seek(const Position& position) = 0;
  /// Continues behind the last epoch that counts, and returns it.
  virtual std::uint64_t seek_end() = 0;

  enum class outcome : std::uint8_t {
    epoch,  ///< `to` holds the next epoch
    none,   ///< no further epoch counts yet
    old,    ///< the next epoch is gone: seek() or seek_end() must follow
  };
  /// The next epoch that has records. Never waits for another thread; a source of files may read them.
  [[nodiscard]] virtual outcome next(ChangeEpoch& to) = 0;

 protected:
  ChangeSource() = default;
};

}  // namespace mxkv::server
