// Writes items of a server into a file.
#pragma once

#include <string>

#include "protocol/clients/cli/connection/connection.hpp"
#include "protocol/clients/cli/transfer/dump.hpp"
#include "protocol/clients/cli/wire/request_text.hpp"

namespace mxkv::cli {

struct ExportOptions {
  Range range{};
  std::string range_text{};  ///< the description of the range in the file
  std::string path{};        ///< empty: standard output
  DumpForm form = DumpForm::json_lines;
  bool compressed = true;
  bool unique = false;     ///< export uniques, too
  bool resume = false;     ///< continue PATH.part
  bool overwrite = false;  ///< replace PATH and PATH.part if they exist
  bool progress = false;
  double rate = 0;  ///< items per second; 0: no limit
};

struct TransferReport {
  DumpTotals totals{};        ///< of the whole file
  std::uint64_t before = 0;   ///< items that were done by an earlier run
  std::uint64_t kept = 0;     ///< import: the server kept its item, or had no item to replace
  std::uint64_t expired = 0;  ///< import: expired before they could be stored
  double seconds = 0;
};

/// Throws Failure. The items written so far stay in PATH.part, and `resume` continues it.
[[nodiscard]] TransferReport export_items(Connection& server, const ExportOptions& options);

}  // namespace mxkv::cli
