// Files as they are at one moment, whatever is done to them meanwhile: for tools beside a running daemon.
//
// A mapping would follow what the daemon writes, and end the process where the disk cannot read; a copy is
// stable, and a failure is a number. Thread-safety: any thread.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::server {

/// All of a file, but for a long hole at its end (bytes_before_hole). Returns 0 or an errno value.
[[nodiscard]] int read_whole_file(const std::string& path, std::string& bytes);

/// Reads a file without keeping it. Returns 0, or why it cannot be read: an errno value.
[[nodiscard]] int read_through(const std::string& path);

/// A new file of these bytes, mode 0600, that is on disk when this returns 0; its name is so after sync_folder().
[[nodiscard]] int write_whole_file(const std::string& path, std::string_view bytes);

/// A new file with the bytes of another one, as write_whole_file(). Any length: a piece is in memory at a time.
[[nodiscard]] int copy_whole_file(const std::string& from, const std::string& to);

/// Names in a folder are on disk when this returns 0.
[[nodiscard]] int sync_folder(const std::string& path);

/// "PATH: Input/output error".
[[nodiscard]] std::string file_complaint(const std::string& path, int error);

/// Whether a process holds the lock of a data directory. A hint: not all systems tell.
[[nodiscard]] bool directory_in_use(const std::string& directory);

}  // namespace mxkv::server
