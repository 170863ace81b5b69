// mxkv-ycsb: the bundled load client. Exit codes: 0 success, 1 failures, 2 usage, 128 plus its number after a
// signal.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <variant>

#include "bench/client/describe.hpp"
#include "bench/client/interrupt.hpp"
#include "bench/client/options.hpp"
#include "bench/client/runner.hpp"
#include "bench/report/commands.hpp"
#include "bench/report/machine.hpp"
#include "bench/report/outputs.hpp"
#include "runtime/base/standard_streams.hpp"

namespace {

using namespace mxkv::bench;

void complain(const std::string& problem) {
  std::fprintf(stderr, "mxkv-ycsb: %s\n", problem.c_str());
}

/// Writes the files before standard output, which may be a pipe whose reader is gone.
bool tell(const OutputFiles& files, const RunResult& result) {
  const std::string problem = write_outputs(files, result);
  if (!problem.empty()) {
    complain(problem);
  }
  std::fputs(report(result).c_str(), stdout);
  return problem.empty();
}

int run_load(const Options& options, const OutputFiles& files, const std::string& command) {
  const Interrupt interrupt;
  auto result = run_client(options, &interrupt);
  if (!result) {
    complain(result.error().message);
    return 1;
  }
  result.value().clients.push_back(describe(options, command));
  const bool written = tell(files, result.value());
  if (const std::string warning = schedule_warning(result.value().schedule); !warning.empty()) {
    complain("warning: " + warning);
  }
  if (!result.value().problem.empty()) {
    complain(result.value().problem);
  }
  const int code = exit_code_of(result.value(), options.misses_allowed, options.max_failures);
  if (code != 0) {
    const std::uint64_t failures = result.value().failures(options.misses_allowed);
    const std::string first = result.value().first_failure(options.misses_allowed);
    complain(std::to_string(failures) + (failures == 1 ? " operation failed" : " operations failed") +
             (first.empty() ? "" : "; " + first));
  }
  if (interrupt.signal() != 0) {
    return 128 + interrupt.signal();
  }
  return written ? code : 1;
}

int run(int argc, char** argv) {
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
    complain(problem);
    return 2;
  }
  return run_load(options, files, quoted_command(argc, argv));
}

}  // namespace

int main(int argc, char** argv) {
  mxkv::runtime::open_standard_streams();
  int code = 1;
  try {
    code = run(argc, argv);
  } catch (const std::exception& error) {
    complain(error.what());
  }
  // Lost output of the report shows here at the latest.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    complain(std::string{"standard output: cannot be written: "} + std::strerror(errno));
    return code == 0 ? 1 : code;
  }
  return code;
}
