// What a disk may still forget: for each file the sectors that were written and not synced, with what they held
// before, and for each folder the names that were given, taken or changed and not synced.
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
  /// `side` is a folder of the same file system, for what was unlinked or replaced.
  void set_side(std::string side) { side_ = std::move(side); }

  /// Before bytes of a file are written, and its length may grow.
  void before_write(int file, std::uint64_t offset, std::uint64_t bytes);
  void synced(int file);
  /// The sync failed, and what it was to write is gone for good, though later syncs say that all is well.
  void sync_failed(int file);
  void synced_folder(const std::string& folder);

  void created(const std::string& path);
  /// Before the call.
  void before_rename(const std::string& from, const std::string& to);
  void before_unlink(const std::string& path);

  /// The power is cut: each unsynced sector is old, new or garbage; some of the last changes of names are undone.
  /// Adds a line to the file `cuts` of the side folder: how many sectors are not new, and how many changes undone.
  void cut(std::uint64_t seed);

 private:
  using File = std::pair<dev_t, ino_t>;
  using Sector = std::array<char, kSectorBytes>;
  struct Unsynced {
    std::string path;                        ///< by /proc, so that renames are followed
    int file = -1;                           ///< a descriptor of ours
    std::uint64_t length = 0;                ///< at the last sync
    std::map<std::uint64_t, Sector> before;  ///< sector's number: what it held
    std::map<std::uint64_t, Sector> lost;    ///< of a sync that failed
  };
  struct NameChange {
    enum class kind : std::uint8_t { created, renamed, unlinked };
    kind what;
    std::string path;
    std::string to;     ///< of a rename
    std::string saved;  ///< what was replaced or unlinked, in the side folder; empty: nothing
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
