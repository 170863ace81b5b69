// Stores the items of a file in a server: many requests in flight; a damaged file is refused before any item is stored.
#pragma once

#include <functional>
#include <string>

#include "protocol/clients/cli/transfer/exporter.hpp"

namespace mxkv::cli {

struct ImportOptions {
  std::string path{};       ///< - is standard input, which cannot be checked first
  char mode = 'E';          ///< of the flag M of ms: E add, R replace, S set
  bool dry_run = false;     ///< only check the file
  bool unverified = false;  ///< store without checking the file first
  bool unique = false;      ///< store the file's uniques, too
  bool resume = false;      ///< from the place in PATH.resume
  bool progress = false;
  std::uint64_t skip = 0;  ///< items to leave out at the beginning
  double rate = 0;
};

/// The file in which an import saves its progress.
[[nodiscard]] std::string resume_name(const std::string& path);

/// `connect` is called after the file was checked. Throws Failure.
[[nodiscard]] TransferReport import_items(const std::function<Connection&()>& connect,
                                          const ImportOptions& options);

}  // namespace mxkv::cli
