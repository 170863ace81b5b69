// One file of PosixDisk, and the mapping that it is read by.
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

  /// Until the file is closed. EWOULDBLOCK: another process holds it.
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

/// How much of a file is read: all of it, but for what lies behind the first 256 MiB of a hole at its end. That holds
/// zeros only, and may be terabytes long in a file that was copied or cut wrongly: too long to be kept or looked through.
[[nodiscard]] std::uint64_t bytes_before_hole(int file, std::uint64_t size) noexcept;

/// Maps a file below the directory that `directory` is a descriptor of. 0 or an errno value.
[[nodiscard]] int map_file(int directory, const std::string& path, std::unique_ptr<DiskBytes>& bytes);

}  // namespace mxkv::server
