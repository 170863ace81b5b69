// mxkv-ycsb: the bundled load client. Exit codes: 0 all right, 1 failures, 2 usage.
#include <cstdio>
#include <exception>
#include <variant>

#include "bench/client/options.hpp"
#include "bench/client/runner.hpp"

int main(int argc, char** argv) {
  using namespace mxkv::bench;
  try {
    const ParsedOptions parsed = parse_options(argc, argv);
    if (const int* code = std::get_if<int>(&parsed)) {
      return *code;
    }
    const Options& options = std::get<Options>(parsed);
    const auto result = run_client(options);
    if (!result) {
      std::fprintf(stderr, "mxkv-ycsb: %s\n", result.error().message.c_str());
      return 1;
    }
    std::fputs(report(result.value().tally, result.value().figures).c_str(), stdout);
    if (!result.value().problem.empty()) {
      std::fprintf(stderr, "mxkv-ycsb: %s\n", result.value().problem.c_str());
    }
    const int code = exit_code_of(result.value(), options.misses_allowed, options.max_failures);
    if (code != 0) {
      std::fprintf(stderr, "mxkv-ycsb: %llu operations failed\n",
                   static_cast<unsigned long long>(result.value().tally.failures(options.misses_allowed)));
    }
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mxkv-ycsb: %s\n", error.what());
    return 1;
  }
}
