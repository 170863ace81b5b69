// Operations on whole files of segments. All return 0 or an errno value. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/journal/disk.hpp"

namespace mxkv::server {

/// The names of files made ahead, which are no segments yet, begin so and end with a number.
inline constexpr std::string_view kSparePrefix = "spare-";

/// Writes all pieces, in as many writes as that takes.
[[nodiscard]] int write_all(DiskFile& file, std::span<const iovec> pieces, std::uint64_t offset);

/// Removes the spares of a folder.
[[nodiscard]] int remove_spares(Disk& disk, const std::string& folder);

/// Brings the first `bytes` of a segment to disk as a copy that replaces it. So no byte on disk is written
/// again. And if a flush of pages failed, the system takes them for clean and a new flush skips them; the
/// copy has new pages. Drops the bytes behind; their space may become the room for the copy.
[[nodiscard]] int replace_by_copy(Disk& disk, const std::string& folder, const std::string& path,
                                  std::uint64_t bytes);

}  // namespace mxkv::server
