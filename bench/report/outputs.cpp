#include "bench/report/outputs.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "bench/report/csv.hpp"
#include "bench/report/hgrm.hpp"
#include "bench/report/result_json.hpp"

namespace mxkv::bench {
namespace {

std::string reason() {
  return std::generic_category().message(errno);
}

/// Tests that a file can be written by opening it for appending.
std::string try_append(const std::string& path) {
  errno = 0;
  const std::ofstream file(path, std::ios::app);
  return file ? std::string() : path + ": cannot be written: " + reason();
}

std::string hgrm_path(const std::string& prefix, const std::string& name) {
  return prefix + "-" + name + ".hgrm";
}

}  // namespace

std::string write_file(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  return file ? std::string() : path + ": cannot be written: " + reason();
}

std::string check_writable(const OutputFiles& files) {
  for (const std::string& path : {files.json, files.csv}) {
    if (std::string problem = path.empty() ? path : try_append(path); !problem.empty()) {
      return problem;
    }
  }
  if (!files.hgrm_prefix.empty()) {
    const std::string folder =
        std::filesystem::path(hgrm_path(files.hgrm_prefix, "READ")).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) {
      return folder + ": cannot be written to: " + reason();
    }
  }
  return {};
}

std::string write_outputs(const OutputFiles& files, const RunResult& result) {
  std::string problem;
  const auto write = [&problem](const std::string& path, const std::string& text) {
    if (problem.empty()) {
      problem = write_file(path, text);
    }
  };
  if (!files.json.empty()) {
    write(files.json, to_json(result));
  }
  if (!files.csv.empty()) {
    write(files.csv, csv_text(result));
  }
  for (std::size_t i = 0; i < kOperationKinds && !files.hgrm_prefix.empty(); ++i) {
    const KindTally& kind = result.tally.kinds[i];
    const std::string name(report_name(static_cast<OperationKind>(i)));
    if (kind.latency.count() != 0) {
      write(hgrm_path(files.hgrm_prefix, name), hgrm_text(kind.latency));
    }
    if (kind.intended.count() != 0) {
      write(hgrm_path(files.hgrm_prefix, "Intended-" + name), hgrm_text(kind.intended));
    }
  }
  return problem;
}

runtime::Result<RunResult> read_result(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  if (file) {
    text << file.rdbuf();
  }
  if (!file || (!text && errno != 0)) {
    return runtime::Error{path + ": cannot be read: " + reason()};
  }
  if (text.view().empty()) {
    return runtime::Error{path + ": is empty, and not a result of mxkv-ycsb"};
  }
  auto result = from_json(text.str());
  if (!result) {
    return runtime::Error{path + ": " + result.error().message};
  }
  return result;
}

}  // namespace mxkv::bench
