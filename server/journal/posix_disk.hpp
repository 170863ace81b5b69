// The file system below one directory.
//
// Whole files are read by mapping them, so that reading a journal costs no copy. The lock keeps other processes
// from writing to the files meanwhile. Names are looked up below a descriptor of the directory, which may be
// moved.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "server/journal/disk.hpp"

namespace mxkv::server {

/// Thread-safety: as Disk.
class PosixDisk final : public Disk {
 public:
  /// Opens a directory, and creates it (mode 0700) if its parent exists. The error has path and reason:
  /// missing, no directory, not writable, or another user's.
  [[nodiscard]] static runtime::Result<std::unique_ptr<PosixDisk>> open_directory(const std::string& path);
  /// The same for a directory that is only read; it has to exist.
  [[nodiscard]] static runtime::Result<std::unique_ptr<PosixDisk>> open_to_read(const std::string& path);

  ~PosixDisk() override;
  PosixDisk(const PosixDisk&) = delete;
  PosixDisk& operator=(const PosixDisk&) = delete;

  [[nodiscard]] int lock(const std::string& path, std::unique_ptr<DiskFile>& lock) override;
  [[nodiscard]] int create(const std::string& path, std::unique_ptr<DiskFile>& file) override;
  [[nodiscard]] int open(const std::string& path, std::unique_ptr<DiskFile>& file) override;
  [[nodiscard]] int read(const std::string& path, std::unique_ptr<DiskBytes>& bytes) override;
  [[nodiscard]] int open_reader(const std::string& path, std::unique_ptr<DiskReader>& file) override;
  [[nodiscard]] int rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] int remove(const std::string& path) override;
  [[nodiscard]] int link(const std::string& from, const std::string& to) override;
  [[nodiscard]] int create_directory(const std::string& path) override;
  [[nodiscard]] int remove_directory(const std::string& path) override;
  [[nodiscard]] int list(const std::string& path, std::vector<std::string>& names) override;
  [[nodiscard]] int sync_directory(const std::string& path) override;
  [[nodiscard]] std::string text(const std::string& path, int error) const override;

 private:
  PosixDisk(int directory, std::string root) noexcept : directory_(directory), root_(std::move(root)) {}

  int directory_;
  std::string root_;
};

}  // namespace mxkv::server
