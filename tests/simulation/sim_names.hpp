// Names of files and directories on a disk that loses power: as they are, and as they are on disk for certain.
//
// Until its directory is synced, each change may or may not be there after a cut: all up to one of them, or any.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/simulation/sim_file.hpp"

namespace mxkv::test {

/// Thread-safety: one thread at a time.
class SimNames {
 public:
  /// An entry is taken away (`from`), another one is made (`to`), or both: it is renamed.
  struct Change {
    std::string from;
    std::string to;
    std::shared_ptr<SimFile> file{};  ///< of a new entry, or renamed; null: a directory
  };

  /// 0 or an errno value.
  [[nodiscard]] int make(const Change& change);
  [[nodiscard]] bool has(const std::string& path) const { return path.empty() || now_.contains(path); }
  /// 0 and the file, ENOENT, or EISDIR.
  [[nodiscard]] int find(const std::string& path, std::shared_ptr<SimFile>& file) const;
  /// Names in a directory, sorted.
  [[nodiscard]] std::vector<std::string> in(const std::string& directory) const;
  /// All files, each once.
  [[nodiscard]] std::vector<SimFile*> files() const;

  /// The file that a name stands for now, whatever is on disk; null: none. Returns the file that it stood
  /// for.
  std::shared_ptr<SimFile> exchange(const std::string& path, std::shared_ptr<SimFile> file);

  void sync(const std::string& directory);
  void cut(std::mt19937_64& random);

 private:
  using Names = std::map<std::string, std::shared_ptr<SimFile>>;

  [[nodiscard]] int checked(const Change& change) const;
  [[nodiscard]] static bool has_entries(const Names& names, const std::string& directory);
  static bool apply(const Change& change, Names& names);

  Names now_;
  Names durable_;
  std::vector<Change> changes_;  ///< from durable_ to now_, in order
};

}  // namespace mxkv::test
