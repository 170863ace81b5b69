// Reads and copies files of which another process may change the bytes: for tools beside a running daemon.
//
// A mapping would show what the daemon writes meanwhile, and end the process if the disk cannot read. A copy
// is stable, and a failed read is an error number. Thread-safety: any thread.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::server {

/// Reads a whole file, except a long hole at its end (bytes_before_hole). Returns 0 or an errno value.
[[nodiscard]] int read_whole_file(const std::string& path, std::string& bytes);

/// Reads a file without keeping its bytes. Returns 0 or an errno value.
[[nodiscard]] int read_through(const std::string& path);

/// Writes a new file with these bytes, mode 0600. When it returns 0, the bytes are on disk; its name is after
/// sync_folder().
[[nodiscard]] int write_whole_file(const std::string& path, std::string_view bytes);

/// Copies a file into a new one, as write_whole_file() writes it. Of any length: one piece at a time is in
/// memory.
[[nodiscard]] int copy_whole_file(const std::string& from, const std::string& to);

/// Brings the names in a folder to disk. Returns 0 or an errno value.
[[nodiscard]] int sync_folder(const std::string& path);

/// "PATH: Input/output error".
[[nodiscard]] std::string file_complaint(const std::string& path, int error);

/// Whether a process holds the lock of a data directory. A hint: not all systems can say.
[[nodiscard]] bool directory_in_use(const std::string& directory);

}  // namespace mxkv::server
