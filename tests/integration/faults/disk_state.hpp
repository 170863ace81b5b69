// The changes that a disk may still lose: for each file the sectors written but not synced, with their contents
// before the write, and for each folder the names created, renamed or removed but not synced.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace mxkv::faults {

inline constexpr std::size_t kSectorBytes = 512;

/// Thread-safety: none; the caller holds a lock.
class DiskState {
 public:
  /// `side` is a folder of the same file system, which keeps files that were unlinked or replaced.
  void set_side(std::string side) { side_ = std::move(side); }

  /// Call before a write to the file, which may grow by it.
  void before_write(int file, std::uint64_t offset, std::uint64_t bytes);
  void synced(int file);
  /// The sync failed: the data that it should have written are lost for good, though later syncs succeed.
  void sync_failed(int file);
  void synced_folder(const std::string& folder);

  void created(const std::string& path);
  /// Call before the rename.
  void before_rename(const std::string& from, const std::string& to);
  void before_unlink(const std::string& path);

  /// The power is cut: each unsynced sector is old, new or garbage; some of the last name changes are undone.
  /// Appends a line to the file `cuts` of the side folder: the number of sectors that are not new, and of undone changes.
  void cut(std::uint64_t seed);

 private:
  using File = std::pair<dev_t, ino_t>;
  using Sector = std::array<char, kSectorBytes>;
  struct Unsynced {
    std::string path;                        ///< through /proc, so that it follows renames
    int file = -1;                           ///< our own descriptor
    std::uint64_t length = 0;                ///< at the last sync
    std::map<std::uint64_t, Sector> before;  ///< by sector number: the contents before the write
    std::map<std::uint64_t, Sector> lost;    ///< sectors of a failed sync
  };
  struct NameChange {
    enum class kind : std::uint8_t { created, renamed, unlinked };
    kind what;
    std::string path;
    std::string to;     ///< new name of a rename
    std::string saved;  ///< copy of the replaced or unlinked file, in the side folder; empty: none
  };

  Unsynced& of(int file);
  [[nodiscard]] std::string save(const std::string& path);
  void undo(const NameChange& change);

  std::string side_;
  std::uint64_t saved_ = 0;
  std::map<File, Unsynced> files_;
  std::vector<NameChange> names_;
};

}  // namespace mxkv::faults
