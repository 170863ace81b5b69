// The files that a result goes to.
#pragma once

#include <string>

#include "bench/report/run_result.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::bench {

/// Empty: not wanted.
struct OutputFiles {
  std::string json;
  std::string csv;
  std::string hgrm_prefix;  ///< of "<prefix>-READ.hgrm", "<prefix>-Intended-READ.hgrm", ..
};

/// Whether all can be written, before a long run finds out that they cannot: what is wrong, or empty.
/// Existing files are left as they are.
std::string check_writable(const OutputFiles& files);
/// Writes them; what went wrong, or empty.
std::string write_outputs(const OutputFiles& files, const RunResult& result);

/// Writes a file whole; what went wrong, or empty.
std::string write_file(const std::string& path, const std::string& text);
/// Reads a result from a JSON file; errors name the file.
runtime::Result<RunResult> read_result(const std::string& path);

}  // namespace mxkv::bench
