// The data directory as a start finds it: whether it is mxkv's, whether another process serves from it, and
// its manifest. begin_service() is the first to change anything in it, except the file LOCK.
//
//   LOCK, MANIFEST, MANIFEST.1, journal/, checkpoint/
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/result.hpp"
#include "server/durability/manifest.hpp"
#include "server/journal/disk.hpp"

namespace mxkv::server {

struct DataDirectory {
  std::unique_ptr<DiskFile> lock;  ///< held as long as this lives
  Manifest manifest;               ///< of a fresh directory: a new id only
  bool fresh = false;              ///< no process ever served from it
};

/// Why a start would refuse a directory by the names in it; empty: it is mxkv's, or may become so. `fresh`:
/// no process ever served from it. Changes nothing.
[[nodiscard]] std::string complaint_about_names(Disk& disk, bool& fresh);

/// Takes the lock and reads the manifest. The error is one line: held by another process, neither empty nor
/// mxkv's, of a newer mxkvd, damaged. Start-up only.
[[nodiscard]] runtime::Result<DataDirectory> open_data_directory(Disk& disk);

/// Makes this process the next to serve from the directory, and changes `directory.manifest` for it: the process
/// gets a tag of its own for the epochs from `first_epoch` on. Writes a
/// fresh directory, with its folders, to disk. Another directory's manifest is only replaced when the process
/// has begun a segment, so that a full disk does not keep it from serving. Start-up only, when the start can
/// no longer be refused.
[[nodiscard]] std::optional<runtime::Error> begin_service(Disk& disk, DataDirectory& directory,
                                                          std::uint64_t now_us, std::uint64_t first_epoch);

}  // namespace mxkv::server
