// mxkv-ycsb: the bundled load client. Exit codes: 0 all right, 1 failures, 2 usage.
#include <cstdio>
#include <exception>
#include <variant>

#include "bench/client/describe.hpp"
#include "bench/client/options.hpp"
#include "bench/client/runner.hpp"
#include "bench/report/commands.hpp"
#include "bench/report/machine.hpp"
#include "bench/report/outputs.hpp"

int main(int argc, char** argv) {
  using namespace mxkv::bench;
  try {
    if (const auto code = run_report_command(argc, argv)) {
      return *code;
    }
    const ParsedOptions parsed = parse_options(argc, argv);
    if (const int* code = std::get_if<int>(&parsed)) {
      return *code;
    }
    const Options& options = std::get<Options>(parsed);
    const OutputFiles files{options.json_file, options.csv_file, options.hgrm_prefix};
    if (const std::string problem = check_writable(files); !problem.empty()) {
      std::fprintf(stderr, "mxkv-ycsb: %s\n", problem.c_str());
      return 2;
    }
    auto result = run_client(options);
    if (!result) {
      std::fprintf(stderr, "mxkv-ycsb: %s\n", result.error().message.c_str());
      return 1;
    }
    std::fputs(report(result.value()).c_str(), stdout);
    result.value().clients.push_back(describe(options, quoted_command(argc, argv)));
    if (const std::string problem = write_outputs(files, result.value()); !problem.empty()) {
      std::fprintf(stderr, "mxkv-ycsb: %s\n", problem.c_str());
      return 1;
    }
    if (const std::string warning = schedule_warning(result.value().schedule); !warning.empty()) {
      std::fprintf(stderr, "mxkv-ycsb: warning: %s\n", warning.c_str());
    }
    if (!result.value().problem.empty()) {
      std::fprintf(stderr, "mxkv-ycsb: %s\n", result.value().problem.c_str());
    }
    const int code = exit_code_of(result.value(), options.misses_allowed, options.max_failures);
    if (code != 0) {
      std::fprintf(stderr, "mxkv-ycsb: %llu operations failed\n",
                   static_cast<unsigned long long>(result.value().failures(options.misses_allowed)));
    }
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mxkv-ycsb: %s\n", error.what());
    return 1;
  }
}
