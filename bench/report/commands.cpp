#include "bench/report/commands.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/client/options.hpp"
#include "bench/client/report.hpp"
#include "bench/report/outputs.hpp"
#include "runtime/base/command_line.hpp"

namespace mxkv::bench {
namespace {

int fail(const std::string& problem) {
  std::fprintf(stderr, "mxkv-ycsb: %s\n", problem.c_str());
  return 1;
}

int merge(const std::vector<RunResult>& results, const OutputFiles& outputs) {
  for (const std::string& doubt : doubts_of_merging(results)) {
    fail("warning: " + doubt);
  }
  RunResult sum = results.front();
  for (std::size_t i = 1; i < results.size(); ++i) {
    merge_into(sum, results[i]);
  }
  if (const std::string problem = write_outputs(outputs, sum); !problem.empty()) {
    return fail(problem);
  }
  std::fputs(report(sum).c_str(), stdout);
  return 0;
}

/// The program that draws results: installed beside this one, or in the sources that it was built in; empty: none.
std::filesystem::path find_plot() {
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  for (std::filesystem::path at = self.parent_path(); at.has_relative_path(); at = at.parent_path()) {
    for (const char* const place : {"share/mxkv/plot/plot", "bench/plot/plot"}) {
      if (std::filesystem::is_regular_file(at / place, unknown)) {
        return at / place;
      }
    }
  }
  return {};
}

/// Becomes the program that draws, by the Python of PATH, which may be a virtual environment's.
int plot(int argc, const char* const* argv) {
  const std::filesystem::path program = find_plot();
  if (program.empty()) {
    return fail("plot: the program that draws, share/mxkv/plot/plot, is not installed beside mxkv-ycsb");
  }
  std::vector<std::string> words{"python3", program.string(), "ycsb"};
  words.insert(words.end(), argv + 2, argv + argc);
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  ::execvp("python3", pointers.data());
  return fail(std::string{"plot: python3 cannot be run: "} + std::strerror(errno));
}

}  // namespace

std::optional<int> run_report_command(int argc, const char* const* argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "plot") {
    return plot(argc, argv);
  }
  if (command != "merge") {
    return std::nullopt;
  }
  CLI::App app{"mxkv-ycsb: results of `load` and `run` that were written by --json.", "mxkv-ycsb"};
  std::vector<std::string> files;
  OutputFiles outputs;
  CLI::App* const merging =
      app.add_subcommand("merge", "combine the results of clients that ran side by side");
  merging->add_option("FILES", files, "results")->required();
  merging->add_option("--json", outputs.json, "write the whole result to FILE")->option_text("FILE");
  merging->add_option("--csv", outputs.csv, "write a table of the run and of each second to FILE")
      ->option_text("FILE");
  merging
      ->add_option("--hgrm", outputs.hgrm_prefix,
                   "write HdrHistogram's percentiles to PREFIX-<OPERATION>.hgrm")
      ->option_text("PREFIX");
  if (const auto code = runtime::parse_or_exit(app, argc, argv)) {
    return code;
  }
  std::vector<RunResult> results;
  for (const std::string& file : files) {
    auto result = read_result(file);
    if (!result) {
      return fail(result.error().message);
    }
    results.push_back(std::move(result).value());
  }
  return merge(results, outputs);
}

}  // namespace mxkv::bench
