// Checks the parts of the checkpoint that a manifest names: hashes, counts, and the order of keys within and
// between them.
#pragma once

#include <string>

#include "server/durability/manifest.hpp"

namespace mxkv::server {

struct CheckpointCheck {
  std::string text;    ///< one line a part
  std::string damage;  ///< a description; empty: none
};

/// Reads all parts in a directory. Without a checkpoint the text says so. Thread-safety: any thread.
[[nodiscard]] CheckpointCheck check_checkpoint(const std::string& directory, const Manifest& manifest);

}  // namespace mxkv::server
