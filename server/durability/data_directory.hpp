// The data directory as a start finds it: whose it is, whether another process serves from it, and what its
// manifest says. Nothing in it is changed before begin_service(), but for the file LOCK.
//
//   LOCK, MANIFEST, MANIFEST.1, journal/, checkpoint/
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/base/result.hpp"
#include "server/durability/manifest.hpp"
#include "server/journal/disk.hpp"

namespace mxkv::server {

struct DataDirectory {
  std::unique_ptr<DiskFile> lock;  ///< held as long as this lives
  Manifest manifest;               ///< of a fresh one: a new id, and nothing else
  bool fresh = false;              ///< nothing was ever served from it
};

/// Takes the lock and reads the manifest. The error is one line: held by another process, not empty and none
/// of ours, of a newer mxkvd, damaged. Start-up only.
[[nodiscard]] runtime::Result<DataDirectory> open_data_directory(Disk& disk);

/// The next process serves from it: its incarnation, on disk, with the folders of a fresh one. Sets what it
/// writes in `directory.manifest`. Start-up only, when nothing can be refused any more.
[[nodiscard]] std::optional<runtime::Error> begin_service(Disk& disk, DataDirectory& directory,
                                                          std::uint64_t now_us);

}  // namespace mxkv::server
