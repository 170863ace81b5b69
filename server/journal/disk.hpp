// The seam between journal and file system. PosixDisk is the real one; tests have one that loses power.
//
// A Disk is one directory with all files and directories in it; paths are relative to it and use '/'. Changes
// are on disk only after a sync: bytes of a file after its sync(), names in a directory after
// sync_directory(). The methods return 0 or an errno value, and text() makes a message of that.
//
// After a failed sync(), bytes written before it may be on disk or not. A later sync() that succeeds does not
// prove that they are: the system has marked their pages clean.
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

/// An open file, which its destructor closes. Thread-safety: one thread at a time.
class DiskFile {
 public:
  struct Written {
    std::size_t bytes = 0;  ///< written, from the first on
    int error = 0;          ///< 0 with fewer bytes than asked for: a short write, which the caller continues
  };

  virtual ~DiskFile() = default;

  /// Writes the pieces one after the other, at an offset.
  [[nodiscard]] virtual Written write_at(std::span<const iovec> pieces, std::uint64_t offset) noexcept = 0;
  /// Brings all written bytes to disk, with the file's length. Returns 0 or an errno value.
  [[nodiscard]] virtual int sync() noexcept = 0;
  /// Makes room up to `bytes`, and the file that long, without changing its bytes. If the file system cannot,
  /// writes zeros behind its end. 0: writes up to there will not lack space.
  [[nodiscard]] virtual int allocate(std::uint64_t bytes) noexcept = 0;
  /// Cuts the file to `bytes`: frees the room behind.
  [[nodiscard]] virtual int truncate(std::uint64_t bytes) noexcept = 0;
  [[nodiscard]] virtual int size(std::uint64_t& bytes) noexcept = 0;
};

/// A file opened to read parts of it, which its destructor closes. It stays readable after the file was renamed
/// or removed. Thread-safety: one thread at a time.
class DiskReader {
 public:
  struct Read {
    std::size_t bytes = 0;  ///< read; fewer than asked for only at the end of the file
    int error = 0;          ///< an errno value; then `bytes` counts for nothing
  };

  virtual ~DiskReader() = default;

  /// Reads bytes from an offset on, as the file has them now. While another thread writes there, old and new
  /// bytes may be mixed.
  [[nodiscard]] virtual Read read_at(std::span<char> to, std::uint64_t offset) noexcept = 0;
};

/// The bytes of a file when it was read; they stay until this is destroyed. Thread-safety: any thread.
class DiskBytes {
 public:
  virtual ~DiskBytes() = default;
  [[nodiscard]] virtual std::string_view bytes() const noexcept = 0;
};

/// Thread-safety: one thread at a time, except read(), open_reader(), list() and the opened files.
class Disk {
 public:
  virtual ~Disk() = default;

  /// Creates the file if there is none, and holds a lock on it until `lock` is destroyed. EWOULDBLOCK:
  /// another process holds the lock.
  [[nodiscard]] virtual int lock(const std::string& path, std::unique_ptr<DiskFile>& lock) = 0;
  /// Creates a file for writing. EEXIST: it exists.
  [[nodiscard]] virtual int create(const std::string& path, std::unique_ptr<DiskFile>& file) = 0;
  /// Opens an existing file for writing.
  [[nodiscard]] virtual int open(const std::string& path, std::unique_ptr<DiskFile>& file) = 0;
  /// Reads a whole file. Any thread.
  [[nodiscard]] virtual int read(const std::string& path, std::unique_ptr<DiskBytes>& bytes) = 0;
  /// Opens an existing file to read parts of it. Any thread.
  [[nodiscard]] virtual int open_reader(const std::string& path, std::unique_ptr<DiskReader>& file) = 0;

  /// Renames a file; a file named `to` is replaced.
  [[nodiscard]] virtual int rename(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual int remove(const std::string& path) = 0;
  /// Gives a file a second name.
  [[nodiscard]] virtual int link(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual int create_directory(const std::string& path) = 0;
  /// Removes an empty directory.
  [[nodiscard]] virtual int remove_directory(const std::string& path) = 0;
  /// Names in a directory (empty: the Disk's own), sorted, without "." and "..". Any thread.
  [[nodiscard]] virtual int list(const std::string& path, std::vector<std::string>& names) = 0;
  /// Brings created, renamed and removed names in the directory to disk. Returns 0 or an errno value.
  [[nodiscard]] virtual int sync_directory(const std::string& path) = 0;

  /// "/var/lib/mxkv/LOCK: another process uses this directory".
  [[nodiscard]] virtual std::string text(const std::string& path, int error) const = 0;
};

}  // namespace mxkv::server
