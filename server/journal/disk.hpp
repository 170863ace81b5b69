// The seam between journal and file system. PosixDisk is the real one; tests have one that loses power.
//
// A Disk is one directory and what is in it; paths are relative to it and use '/'. Nothing here is on disk
// before a sync says so: bytes of a file before its sync(), names of a directory before sync_directory(). The
// methods return 0 or an errno value, and text() makes a sentence of that.
//
// After a sync() that failed, what was written before it may be on disk or not, and a later sync() that
// succeeds says nothing of it: the system has marked the pages clean.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mxkv::server {

/// An open file; closed when it goes. Thread-safety: one thread at a time.
class DiskFile {
 public:
  struct Written {
    std::size_t bytes = 0;  ///< that were written, from the first one on
    int error = 0;          ///< 0 with less than all: a short write, to be continued by the caller
  };

  virtual ~DiskFile() = default;

  /// Writes the pieces one behind the other, at an offset.
  [[nodiscard]] virtual Written write_at(std::span<const iovec> pieces, std::uint64_t offset) noexcept = 0;
  /// What was written is on disk when this returns 0, with the length of the file.
  [[nodiscard]] virtual int sync() noexcept = 0;
  /// Makes room up to `bytes` and the file so long, without changing what it holds. Where the file system
  /// cannot, zeros are written to what is new. 0: writes up to there will not lack space.
  [[nodiscard]] virtual int allocate(std::uint64_t bytes) noexcept = 0;
  /// Cuts the file to `bytes`: the bytes behind become room.
  [[nodiscard]] virtual int truncate(std::uint64_t bytes) noexcept = 0;
  [[nodiscard]] virtual int size(std::uint64_t& bytes) noexcept = 0;
};

/// What a file held when it was read; the bytes stay until this goes. Thread-safety: any thread.
class DiskBytes {
 public:
  virtual ~DiskBytes() = default;
  [[nodiscard]] virtual std::string_view bytes() const noexcept = 0;
};

/// Thread-safety: one thread at a time, but read() and the files it opened.
class Disk {
 public:
  virtual ~Disk() = default;

  /// Creates the file if there is none and holds a lock on it until `lock` goes. EWOULDBLOCK: another process
  /// has it.
  [[nodiscard]] virtual int lock(const std::string& path, std::unique_ptr<DiskFile>& lock) = 0;
  /// A new file, for writing. EEXIST: there is one.
  [[nodiscard]] virtual int create(const std::string& path, std::unique_ptr<DiskFile>& file) = 0;
  /// One that is there, for writing.
  [[nodiscard]] virtual int open(const std::string& path, std::unique_ptr<DiskFile>& file) = 0;
  /// All of a file. Any thread.
  [[nodiscard]] virtual int read(const std::string& path, std::unique_ptr<DiskBytes>& bytes) = 0;

  /// Replaces what has the name `to`.
  [[nodiscard]] virtual int rename(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual int remove(const std::string& path) = 0;
  /// A second name for a file.
  [[nodiscard]] virtual int link(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual int create_directory(const std::string& path) = 0;
  /// An empty one.
  [[nodiscard]] virtual int remove_directory(const std::string& path) = 0;
  /// Names in a directory (empty: the Disk's own), sorted, without "." and "..".
  [[nodiscard]] virtual int list(const std::string& path, std::vector<std::string>& names) = 0;
  /// What was created, renamed and removed in the directory is on disk when this returns 0.
  [[nodiscard]] virtual int sync_directory(const std::string& path) = 0;

  /// "/var/lib/mxkv/LOCK: another process uses this directory".
  [[nodiscard]] virtual std::string text(const std::string& path, int error) const = 0;
};

}  // namespace mxkv::server
