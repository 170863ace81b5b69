// The data directory as a start finds it: whose it is, whether another process serves from it, and what its
// manifest says. Nothing in it is changed before begin_service(), but for the file LOCK.
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
  Manifest manifest;               ///< of a fresh one: a new id, and nothing else
  bool fresh = false;              ///< nothing was ever served from it
};

/// Why a start would refuse a directory by the names in it; empty: it is one of ours, or may become one. `fresh`: nothing
/// was ever served from it. Changes nothing.
[[nodiscard]] std::string complaint_about_names(Disk& disk, bool& fresh);

/// Takes the lock and reads the manifest. The error is one line: held by another process, not empty and none
/// of ours, of a newer mxkvd, damaged. Start-up only.
[[nodiscard]] runtime::Result<DataDirectory> open_data_directory(Disk& disk);

/// The next process serves from it, by `directory.manifest`, which is changed for that. On disk is a fresh one, with its
/// folders. Another is left alone: its manifest is replaced when the process has begun a segment, so that a full disk
/// does not keep it from serving. Start-up only, when nothing can be refused any more.
[[nodiscard]] std::optional<runtime::Error> begin_service(Disk& disk, DataDirectory& directory,
                                                          std::uint64_t now_us);

}  // namespace mxkv::server
