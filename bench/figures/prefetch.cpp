// [Mx fig. 10]: prefetching off, by distances, at spawn, and tuned at run time, on a Blink-tree of 64-bit
// keys with one worker.
//
// A tuned worker first works until its tuner has settled; later surveys fall into the measurement. "auto /
// best fixed distance" compares medians of the same, interleaved rounds; at spawn is no distance.
//
// --profile MODE (off, at-spawn, auto, or a distance) does look-ups in that mode and prints nothing: `run`
// counts its instructions with callgrind.
#include <algorithm>
#include <charconv>

#include "bench/figures/figure.hpp"
#include "bench/index/tree_work.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::IntegerTree;
using bench::Run;
using runtime::prefetch_mode;
using runtime::PrefetchOptions;
using runtime::Worker;

constexpr std::uint32_t kMostDistance = 64;
/// A survey of all settings takes 300,000 tasks; an operation is at least one.
constexpr std::uint64_t kOperationsToSettle = 400'000;

/// "off", "at-spawn", "auto" or a distance.
std::optional<PrefetchOptions> mode_from(const std::string& text, std::uint32_t window) {
  if (text == "off") {
    return PrefetchOptions{prefetch_mode::off, 1, window};
  }
  if (text == "at-spawn") {
    return PrefetchOptions{prefetch_mode::at_spawn, 1, window};
  }
  if (text == "auto") {
    return PrefetchOptions{prefetch_mode::tuned, 1, window};
  }
  std::uint32_t distance = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), distance);
  if (error != std::errc{} || end != text.data() + text.size() || distance < 1 || distance > kMostDistance) {
    return std::nullopt;
  }
  return PrefetchOptions{prefetch_mode::distance, distance, window};
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t keys = 10'000'000;
  std::uint64_t operations = 2'000'000;
  std::uint64_t window = 64;
  std::string profile;
  bench::Figure figure{"prefetch", "Prefetching off, by distance, at spawn, and tuned [Mx fig. 10]"};
  figure.number("keys", keys, "keys in the tree");
  figure.number("operations", operations, "operations a measurement", 0);
  figure.number("window", window, "operations in flight", 1, 256);
  figure.text("profile", profile,
              "only look-ups in this mode, without output: off, at-spawn, auto or a distance");
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  const auto in_flight = static_cast<std::uint32_t>(window);
  const std::optional<PrefetchOptions> profiled = mode_from(profile, in_flight);
  if (!profile.empty() && !profiled) {
    figure.note("--profile: not off, at-spawn, auto or 1-64: " + profile);
    return 2;
  }
  runtime::RuntimeOptions options;
  options.workers.push_back({.pu = runtime::PuId{0}, .node = runtime::NumaNodeId{0}, .pinned = false});
  options.prefetch.window = in_flight;
  const runtime::SystemClock clock;
  runtime::Runtime runtime{options, clock};
  IntegerTree tree{runtime, index::TreeOptions{}};
  Worker& worker = runtime.worker(runtime::WorkerId{0});
  Run run;
  run.keys = keys;
  const auto read = [&](Worker& on) { on.create<bench::ReadTask>(tree, run)->start(on); };
  const auto write = [&](bool insert) {
    return [&tree, &run, insert](Worker& on) { on.create<bench::WriteTask>(tree, run, insert)->start(on); };
  };
  bench::execute(runtime, run, keys, window, write(true));
  if (profiled) {
    worker.set_prefetch(*profiled);
    bench::execute(runtime, run, operations, window, read);
    return run.wrong == 0 ? 0 : 1;
  }

  const auto rate = [&](const PrefetchOptions& mode, const auto& spawn) {
    worker.set_prefetch(mode);
    if (mode.mode == prefetch_mode::tuned) {
      bench::execute(runtime, run, std::min(operations, kOperationsToSettle), window, spawn);
    }
    const double start = bench::thread_cpu_seconds();
    bench::execute(runtime, run, operations, window, spawn);
    return static_cast<double>(operations) / (bench::thread_cpu_seconds() - start) / 1e6;
  };
  std::vector<bench::Variant> variants;
  for (const std::string mode :
       {"off", "1", "2", "4", "8", "16", "24", "32", "48", "64", "at-spawn", "auto"}) {
    const PrefetchOptions prefetch = *mode_from(mode, in_flight);
    variants.push_back({"look-ups", mode, [&, prefetch] { return rate(prefetch, read); }});
    variants.push_back({"updates", mode, [&, prefetch] { return rate(prefetch, write(false)); }});
  }
  const std::vector<double> rates = figure.measure(variants, "million operations/s");
  for (const std::string series : {"look-ups", "updates"}) {
    double tuned = 0;
    double best = 0;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const std::string& mode = std::get<std::string>(variants[i].x);
      if (variants[i].series == series && mode == "auto") {
        tuned = rates[i];
      } else if (variants[i].series == series && mode_from(mode, 1)->mode == prefetch_mode::distance) {
        best = std::max(best, rates[i]);
      }
    }
    figure.point("auto / best fixed distance", series, tuned / best, "times");
  }
  if (run.wrong > 0) {
    figure.note(std::to_string(run.wrong) + " wrong results");
    return 1;
  }
  return 0;
}
