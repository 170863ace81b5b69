#include "bench/report/commands.hpp"

#include <cstdio>
#include <string>
#include <string_view>
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

}  // namespace

std::optional<int> run_report_command(int argc, const char* const* argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "plot") {
    fail("results are drawn by bench/plot/plot of the sources: plot ycsb FILES -o PAGE");
    return kUsageError;
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
