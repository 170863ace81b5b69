// The files of checkpoints that nobody needs any more.
#pragma once

#include <optional>
#include <string>

#include "server/durability/manifest.hpp"
#include "server/journal/disk.hpp"

namespace mxkv::server {

/// Removes a checkpoint's folder, as far as that can be done now. Thread-safety: one thread.
void remove_checkpoint(Disk& disk, const std::string& path);
/// Removes all but the one that the manifest names: what was left over is tried again. Thread-safety: one thread.
void remove_unnamed_checkpoints(Disk& disk, const std::optional<CheckpointEntry>& named);

}  // namespace mxkv::server
