// Whether the parts of the checkpoint that a manifest names are whole: hashes, counts, the order of keys within
// and between them.
#pragma once

#include <string>

#include "server/durability/manifest.hpp"

namespace mxkv::server {

struct CheckpointCheck {
  std::string text;    ///< a line a part
  std::string damage;  ///< for a person; empty: none
};

/// Reads all parts in a directory. Of none it says that there is none. Thread-safety: any thread.
[[nodiscard]] CheckpointCheck check_checkpoint(const std::string& directory, const Manifest& manifest);

}  // namespace mxkv::server
