// Operations on whole files of segments. All return 0 or an errno value. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/journal/disk.hpp"

namespace mxkv::server {

/// Files that are made ahead, and no segments yet, are called so, with a number.
inline constexpr std::string_view kSparePrefix = "spare-";

/// All pieces, however many writes that takes.
[[nodiscard]] int write_all(DiskFile& file, std::span<const iovec> pieces, std::uint64_t offset);

/// Removes the spares of a folder.
[[nodiscard]] int remove_spares(Disk& disk, const std::string& folder);

/// Brings the first `bytes` of a segment to the disk, as a copy that takes its place. So no byte that is on disk is
/// written again. And pages whose flush failed, which the system takes for flushed and another flush skips, are other
/// ones now. The bytes behind these go; their place may become the room for the copy.
[[nodiscard]] int replace_by_copy(Disk& disk, const std::string& folder, const std::string& path,
                                  std::uint64_t bytes);

}  // namespace mxkv::server
