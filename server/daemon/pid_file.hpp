// The file that holds the process's number while the daemon runs.
//
// It is locked (flock) for as long as the daemon lives, so who finds it unlocked finds a stale one; unless
// its number is that of a living process all the same, which may be another program's file.
#pragma once

#include <string>

#include "runtime/base/result.hpp"

namespace mxkv::server {

/// Thread-safety: that of a plain value.
class PidFile {
 public:
  /// Holds `path` with this process's number; an empty path: no file. Replaces a stale one.
  /// Errors: "pid file PATH: why", if a living process holds it, or it cannot be written.
  [[nodiscard]] static runtime::Result<PidFile> hold(const std::string& path);

  PidFile(PidFile&& other) noexcept;
  PidFile& operator=(PidFile&&) = delete;
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  ~PidFile() { remove(); }

  /// Removes the file and lets go of it.
  void remove() noexcept;

 private:
  PidFile(std::string path, int descriptor) noexcept : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
};

}  // namespace mxkv::server
