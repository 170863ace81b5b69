// The file with the process's id while the daemon runs.
//
// It is locked (flock) as long as the daemon lives. So an unlocked file is stale, unless its process is alive
// all the same: then the file may belong to another program.
#pragma once

#include <string>

#include "runtime/base/result.hpp"

namespace mxkv::server {

/// Thread-safety: none, like a plain value.
class PidFile {
 public:
  /// Creates `path` with this process's id, or replaces a stale file; an empty path: no file. Errors: "pid
  /// file PATH: why", if a living process holds the file, or it cannot be written.
  [[nodiscard]] static runtime::Result<PidFile> hold(const std::string& path);

  PidFile(PidFile&& other) noexcept;
  PidFile& operator=(PidFile&&) = delete;
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  ~PidFile() { remove(); }

  /// Removes the file and its lock.
  void remove() noexcept;

 private:
  PidFile(std::string path, int descriptor) noexcept : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
};

}  // namespace mxkv::server
