// Removes the files of checkpoints that are no longer needed.
#pragma once

#include <optional>
#include <string>

#include "server/durability/manifest.hpp"
#include "server/journal/disk.hpp"

namespace mxkv::server {

/// Removes a checkpoint's folder, as far as possible now. Thread-safety: one thread.
void remove_checkpoint(Disk& disk, const std::string& path);
/// Removes all checkpoints but the one that the manifest names, also what earlier tries left. Thread-safety:
/// one thread.
/// one thread.
void remove_unnamed_checkpoints(Disk& disk, const std::optional<CheckpointEntry>& named);

}  // namespace mxkv::server
