// A disk in memory, without a power switch: it shows what one part of the journal does to a disk, and how that
// part treats errors.
#pragma once

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/journal/disk.hpp"

namespace mxkv::server::test {

class MemoryDisk final : public Disk {
 public:
  using Bytes = std::shared_ptr<std::string>;

  std::map<std::string, Bytes> files;
  std::uint64_t room = ~std::uint64_t{0};      ///< of all files
  int write_error = 0;                         ///< of the next write
  int sync_error = 0;                          ///< of the next sync of a file
  std::size_t most_written = ~std::size_t{0};  ///< at once: shorter writes
  std::size_t syncs = 0;                       ///< of files
  std::function<void()> at_sync = [] {};

  [[nodiscard]] std::uint64_t used() const {
    std::uint64_t bytes = 0;
    for (const auto& [path, file] : files) {
      bytes += file->size();
    }
    return bytes;
  }
  [[nodiscard]] const std::string& at(const std::string& path) const { return *files.at(path); }

  int lock(const std::string& path, std::unique_ptr<DiskFile>& lock) override { return create(path, lock); }
  int create(const std::string& path, std::unique_ptr<DiskFile>& file) override {
    if (!files.try_emplace(path, std::make_shared<std::string>()).second) {
      return EEXIST;
    }
    return open(path, file);
  }
  int open(const std::string& path, std::unique_ptr<DiskFile>& file) override {
    if (!files.contains(path)) {
      return ENOENT;
    }
    file = std::make_unique<File>(*this, files.at(path));
    return 0;
  }
  int read(const std::string& path, std::unique_ptr<DiskBytes>& bytes) override {
    if (!files.contains(path)) {
      return ENOENT;
    }
    bytes = std::make_unique<Copy>(at(path));
    return 0;
  }
  int open_reader(const std::string& path, std::unique_ptr<DiskReader>& file) override {
    if (!files.contains(path)) {
      return ENOENT;
    }
    file = std::make_unique<Reader>(files.at(path));
    return 0;
  }
  int rename(const std::string& from, const std::string& to) override {
    if (!files.contains(from)) {
      return ENOENT;
    }
    files[to] = files.at(from);
    files.erase(from);
    return 0;
  }
  int remove(const std::string& path) override { return files.erase(path) == 1 ? 0 : ENOENT; }
  int link(const std::string& from, const std::string& to) override {
    files[to] = files.at(from);
    return 0;
  }
  int create_directory(const std::string& /*path*/) override { return 0; }
  int remove_directory(const std::string& /*path*/) override { return 0; }
  int list(const std::string& path, std::vector<std::string>& names) override {
    for (const auto& [name, file] : files) {
      if (name.starts_with(path + "/")) {
        names.push_back(name.substr(path.size() + 1));
      }
    }
    return 0;
  }
  int sync_directory(const std::string& /*path*/) override { return 0; }
  std::string text(const std::string& path, int error) const override {
    return path + ": " + std::to_string(error);
  }

 private:
  struct Copy final : DiskBytes {
    explicit Copy(std::string bytes) : bytes_(std::move(bytes)) {}
    std::string_view bytes() const noexcept override { return bytes_; }
    std::string bytes_;
  };

  struct Reader final : DiskReader {
    explicit Reader(Bytes bytes) : bytes_(std::move(bytes)) {}
    Read read_at(std::span<char> to, std::uint64_t offset) noexcept override {
      return {offset < bytes_->size() ? bytes_->copy(to.data(), to.size(), offset) : 0, 0};
    }
    Bytes bytes_;
  };

  class File final : public DiskFile {
   public:
    File(MemoryDisk& disk, Bytes bytes) : disk_(disk), bytes_(std::move(bytes)) {}

    Written write_at(std::span<const iovec> pieces, std::uint64_t offset) noexcept override {
      if (const int error = std::exchange(disk_.write_error, 0)) {
        return {0, error};
      }
      std::size_t written = 0;
      for (const iovec& piece : pieces) {
        const std::size_t bytes = std::min(piece.iov_len, disk_.most_written - written);
        if (const int error = grow(offset + written + bytes)) {
          return {written, written == 0 ? error : 0};
        }
        bytes_->replace(offset + written, bytes, static_cast<const char*>(piece.iov_base), bytes);
        written += bytes;
      }
      return {written, 0};
    }
    int sync() noexcept override {
      ++disk_.syncs;
      disk_.at_sync();
      return std::exchange(disk_.sync_error, 0);
    }
    int allocate(std::uint64_t bytes) noexcept override { return grow(bytes); }
    int truncate(std::uint64_t bytes) noexcept override {
      bytes_->resize(bytes);
      return 0;
    }
    int size(std::uint64_t& bytes) noexcept override {
      bytes = bytes_->size();
      return 0;
    }

   private:
    int grow(std::uint64_t bytes) {
      if (bytes <= bytes_->size()) {
        return 0;
      }
      if (disk_.used() + bytes - bytes_->size() > disk_.room) {
        return ENOSPC;
      }
      bytes_->resize(bytes);
      return 0;
    }

    MemoryDisk& disk_;
    Bytes bytes_;
  };
};

}  // namespace mxkv::server::test
