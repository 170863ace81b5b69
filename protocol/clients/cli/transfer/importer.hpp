// From a file into the server: many requests in flight, and nothing stored of a file that is not whole.
#pragma once

#include <functional>
#include <string>

#include "protocol/clients/cli/transfer/exporter.hpp"

namespace mxkv::cli {

struct ImportOptions {
  std::string path{};       ///< - is standard input, which cannot be looked at before
  char mode = 'E';          ///< of the flag M of ms: E add, R replace, S set
  bool dry_run = false;     ///< only looks whether the file is whole
  bool unverified = false;  ///< stores while it looks
  bool unique = false;      ///< uniques of the file, too
  bool resume = false;      ///< from where PATH.resume says
  bool progress = false;
  std::uint64_t skip = 0;  ///< items at the beginning that are left out
  double rate = 0;
};

/// Where an import keeps how far it is.
[[nodiscard]] std::string resume_name(const std::string& path);

/// `connect` is called when the file is known to be whole. Throws Failure.
[[nodiscard]] TransferReport import_items(const std::function<Connection&()>& connect,
                                          const ImportOptions& options);

}  // namespace mxkv::cli
