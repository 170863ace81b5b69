// One file of PosixDisk to write or to read in parts, and the mapping by which a whole file is read.
#pragma once

#include <memory>
#include <string>

#include "server/journal/disk.hpp"

namespace mxkv::server {

/// Owns the descriptor. Thread-safety: one thread at a time.
class PosixFile final : public DiskFile {
 public:
  explicit PosixFile(int file) noexcept : file_(file) {}
  ~PosixFile() override;
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  /// Takes a lock until the file is closed. EWOULDBLOCK: another process holds it.
  [[nodiscard]] int lock() noexcept;

  [[nodiscard]] Written write_at(std::span<const iovec> pieces, std::uint64_t offset) noexcept override;
  [[nodiscard]] int sync() noexcept override;
  [[nodiscard]] int allocate(std::uint64_t bytes) noexcept override;
  [[nodiscard]] int truncate(std::uint64_t bytes) noexcept override;
  [[nodiscard]] int size(std::uint64_t& bytes) noexcept override;

 private:
  [[nodiscard]] int fill_with_zeros(std::uint64_t from, std::uint64_t to) noexcept;

  int file_;
};

/// Owns the descriptor. Thread-safety: one thread at a time.
class PosixReader final : public DiskReader {
 public:
  explicit PosixReader(int file) noexcept : file_(file) {}
  ~PosixReader() override;
  PosixReader(const PosixReader&) = delete;
  PosixReader& operator=(const PosixReader&) = delete;

  [[nodiscard]] Read read_at(std::span<char> to, std::uint64_t offset) noexcept override;

 private:
  int file_;
};

/// How many bytes of a file to read: all, except a hole at its end behind that hole's first 256 MiB. Such a
/// hole is only zeros. It may be terabytes long in a file that was copied or cut wrongly: too long to keep or
/// to search.
[[nodiscard]] std::uint64_t bytes_before_hole(int file, std::uint64_t size) noexcept;

/// Maps a file below the directory of the descriptor `directory`. Returns 0 or an errno value.
[[nodiscard]] int map_file(int directory, const std::string& path, std::unique_ptr<DiskBytes>& bytes);

}  // namespace mxkv::server
