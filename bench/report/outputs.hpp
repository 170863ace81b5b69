// The files that a result goes to.
#pragma once

#include <string>

#include "bench/report/run_result.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::bench {

/// The names of the files. An empty name: do not write it.
struct OutputFiles {
  std::string json;
  std::string csv;
  std::string hgrm_prefix;  ///< of "<prefix>-READ.hgrm", "<prefix>-Intended-READ.hgrm", ..
};

/// Checks before a long run that all files can be written. Returns an error text, or an empty one. Does not
/// change existing files.
std::string check_writable(const OutputFiles& files);
/// Writes the files. Returns an error text, or an empty one.
std::string write_outputs(const OutputFiles& files, const RunResult& result);

/// Writes a whole file. Returns an error text, or an empty one.
std::string write_file(const std::string& path, const std::string& text);
/// Reads a result from a JSON file; errors name the file.
runtime::Result<RunResult> read_result(const std::string& path);

}  // namespace mxkv::bench
