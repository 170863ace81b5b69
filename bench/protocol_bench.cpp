// The cost of parsing a request and writing a reply alone: no sockets, no tasks, no look-ups.
//
// "request" is the time of one request, "bytes" (in G/s) the bytes a nanosecond. Every case is checked once
// before it is measured. For counting instructions instead of time:
//   valgrind --tool=callgrind --toggle-collect='*profiled_pass*' protocol_bench --profile parse/get
// runs that case alone for so many --passes and prints how many requests they had.
#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "bench/protocol_cases.hpp"
#include "runtime/base/standard_streams.hpp"

namespace mxkv::bench {
namespace {

/// Whether a pass has the expected number of requests and bytes.
bool does_its_work(const Case& one) {
  const Pass done = one.pass();
  if (done.requests == one.wanted.requests && done.bytes == one.wanted.bytes) {
    return true;
  }
  std::fprintf(stderr, "protocol_bench: %s: %zu requests of %zu, %zu bytes of %zu\n", one.name.c_str(),
               done.requests, one.wanted.requests, done.bytes, one.wanted.bytes);
  return false;
}

void measure(benchmark::State& state, const Case& one) {
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(one.pass());
  }
  const auto passes = static_cast<double>(state.iterations());
  using benchmark::Counter;
  state.counters["request"] =
      Counter(passes * static_cast<double>(one.wanted.requests), Counter::kIsRate | Counter::kInvert);
  state.counters["bytes"] = Counter(passes * static_cast<double>(one.wanted.bytes), Counter::kIsRate);
}

__attribute__((noinline)) Pass profiled_pass(const Case& one) {
  return one.pass();
}

/// Runs only this case, `passes` times. Returns the exit code.
int profile(const std::vector<Case>& cases, std::string_view name, std::size_t passes) {
  for (const Case& one : cases) {
    if (one.name == name) {
      for (std::size_t i = 0; i < passes; ++i) {
        benchmark::DoNotOptimize(profiled_pass(one));
      }
      std::printf("%zu requests, %zu bytes\n", passes * one.wanted.requests, passes * one.wanted.bytes);
      return 0;
    }
  }
  std::fprintf(stderr, "protocol_bench: --profile: there is no case %.*s; these are there:\n",
               static_cast<int>(name.size()), name.data());
  for (const Case& one : cases) {
    std::fprintf(stderr, "  %s\n", one.name.c_str());
  }
  return 2;
}

}  // namespace

int run_protocol_bench(int argc, char** argv) {
  const std::vector<Case> cases = protocol_cases();
  bool all_right = true;
  for (const Case& one : cases) {
    all_right = does_its_work(one) && all_right;
  }
  if (!all_right) {
    return 1;
  }
  if (argc > 2 && std::string_view(argv[1]) == "--profile") {
    std::size_t passes = 100;
    if (argc > 4 && std::string_view(argv[3]) == "--passes") {
      std::from_chars(argv[4], argv[4] + std::strlen(argv[4]), passes);
    }
    return profile(cases, argv[2], passes);
  }
  for (const Case& one : cases) {
    benchmark::RegisterBenchmark(one.name.c_str(), [&one](benchmark::State& state) { measure(state, one); });
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace mxkv::bench

int main(int argc, char** argv) {
  mxkv::runtime::open_standard_streams();
  return mxkv::bench::run_protocol_bench(argc, argv);
}
