// From the server into a file.
#pragma once

#include <string>

#include "protocol/clients/cli/connection/connection.hpp"
#include "protocol/clients/cli/transfer/dump.hpp"
#include "protocol/clients/cli/wire/request_text.hpp"

namespace mxkv::cli {

struct ExportOptions {
  Range range{};
  std::string range_text{};  ///< what the file says of the range
  std::string path{};        ///< empty: standard output
  DumpForm form = DumpForm::json_lines;
  bool compressed = true;
  bool unique = false;     ///< uniques, too
  bool resume = false;     ///< goes on with PATH.part
  bool overwrite = false;  ///< PATH and PATH.part may be there
  bool progress = false;
  double rate = 0;  ///< items a second; 0: no limit
};

struct TransferReport {
  DumpTotals totals{};        ///< of the whole file
  std::uint64_t before = 0;   ///< items that were done by an earlier run
  std::uint64_t kept = 0;     ///< import: the server kept what it had, or had nothing to replace
  std::uint64_t expired = 0;  ///< import: over before they could be stored
  double seconds = 0;
};

/// Throws Failure. What is written stays in PATH.part then, and `resume` goes on with it.
[[nodiscard]] TransferReport export_items(Connection& server, const ExportOptions& options);

}  // namespace mxkv::cli
