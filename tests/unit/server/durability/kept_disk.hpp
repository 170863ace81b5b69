// A data directory in memory that one process after the other serves from. It can be copied at any moment:
// the copy is the directory as a killed process leaves it.
#pragma once

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/server/journal/memory_disk.hpp"

namespace mxkv::server::testing {

class KeptDisk final : public Disk {
 public:
  /// A copy of the files, which changes apart from now on.
  [[nodiscard]] std::unique_ptr<KeptDisk> copy() const {
    auto other = std::make_unique<KeptDisk>();
    for (const auto& [name, bytes] : disk_.files) {
      other->disk_.files[name] = std::make_shared<std::string>(*bytes);
    }
    return other;
  }

  void put(const std::string& path, std::string bytes) {
    disk_.files[path] = std::make_shared<std::string>(std::move(bytes));
  }

  int lock(const std::string& path, std::unique_ptr<DiskFile>& lock) override {
    return disk_.files.contains(path) ? disk_.open(path, lock) : disk_.create(path, lock);
  }
  int create(const std::string& path, std::unique_ptr<DiskFile>& file) override {
    return disk_.create(path, file);
  }
  int open(const std::string& path, std::unique_ptr<DiskFile>& file) override {
    return disk_.open(path, file);
  }
  int read(const std::string& path, std::unique_ptr<DiskBytes>& bytes) override {
    return disk_.read(path, bytes);
  }
  int open_reader(const std::string& path, std::unique_ptr<DiskReader>& file) override {
    return disk_.open_reader(path, file);
  }
  int rename(const std::string& from, const std::string& to) override { return disk_.rename(from, to); }
  int remove(const std::string& path) override { return disk_.remove(path); }
  int link(const std::string& from, const std::string& to) override {
    return disk_.files.contains(from) ? disk_.link(from, to) : ENOENT;
  }
  int create_directory(const std::string& /*path*/) override { return 0; }
  int remove_directory(const std::string& /*path*/) override { return 0; }
  int list(const std::string& path, std::vector<std::string>& names) override {
    const std::string before = path.empty() ? path : path + "/";
    for (const auto& [name, bytes] : disk_.files) {
      if (name.starts_with(before)) {
        const std::string rest = name.substr(before.size());
        const std::string first = rest.substr(0, rest.find('/'));
        if (names.empty() || names.back() != first) {
          names.push_back(first);
        }
      }
    }
    return 0;
  }
  int sync_directory(const std::string& /*path*/) override { return 0; }
  std::string text(const std::string& path, int error) const override { return disk_.text(path, error); }

 private:
  test::MemoryDisk disk_;
};

}  // namespace mxkv::server::testing
