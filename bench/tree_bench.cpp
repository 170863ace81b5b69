// The tree alone: 64-bit keys, random or in order, uniform operations, one worker on the calling thread.
//
// Shows the effect of the annotations: the same tasks with prefetching at spawn, by distance, and off, in
// turn (A B A B), as medians; with nodes under any primitive and epochs in any mode. As many operations are
// in flight as the window holds; a finished operation starts again with the next key. bench/index compares
// the tree with other containers and its ceilings.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/figures/figure.hpp"
#include "bench/index/tree_work.hpp"
#include "index/checker.hpp"
#include "runtime/base/command_line.hpp"
#include "runtime/base/standard_streams.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::ReadTask;
using bench::Run;
using bench::WriteTask;
using runtime::Worker;
using Traits = bench::IntegerTraits;
using Tree = bench::IntegerTree;

/// Million operations a second of CPU time.
template <class Spawn>
double measure(runtime::Runtime& runtime, Run& run, std::uint64_t operations, std::uint32_t in_flight,
               const Spawn& spawn) {
  const double start = bench::thread_cpu_seconds();
  bench::execute(runtime, run, operations, in_flight, spawn);
  return static_cast<double>(operations) / (bench::thread_cpu_seconds() - start) / 1e6;
}

/// The flags' words for the primitives of a tree's nodes.
std::map<std::string, runtime::primitive> primitive_words() {
  std::map<std::string, runtime::primitive> words;
  using enum runtime::primitive;
  for (const auto how :
       {serialized_by_scheduling, optimistic_latch, optimistic_scheduling, spin_latch, reader_writer_latch}) {
    words.emplace(runtime::primitive_name(how), how);
  }
  return words;
}

/// The flag's words for how workers publish their epochs.
std::map<std::string, runtime::epoch_mode> epoch_words() {
  std::map<std::string, runtime::epoch_mode> words;
  using enum runtime::epoch_mode;
  for (const auto mode : {off, batched, task}) {
    words.emplace(runtime::epoch_mode_name(mode), mode);
  }
  return words;
}

struct Variant {
  std::string name;
  runtime::PrefetchOptions prefetch;
  std::vector<double> reads;
};

}  // namespace

int main(int argc, char** argv) {
  mxkv::runtime::open_standard_streams();
  std::uint64_t keys = 10'000'000;
  std::uint64_t operations = 5'000'000;
  std::uint32_t window = 64;
  unsigned rounds = 5;
  CLI::App app{"Tree of 64-bit keys, one worker: look-ups with and without prefetching"};
  app.add_option("--keys", keys, "keys loaded")->capture_default_str();
  app.add_option("--operations", operations, "operations a measurement")->capture_default_str();
  app.add_option("--window", window, "operations in flight")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--rounds", rounds, "measurements of each variant, in turn")->capture_default_str();
  bool profile = false;
  app.add_flag("--profile", profile, "look-ups with prefetching at spawn only, for a profiler");
  bool ascending = false;
  app.add_flag("--ascending", ascending, "the load is in the order of the keys");
  index::TreeOptions nodes;
  app.add_option("--leaves", nodes.leaves, "primitive of the leaves")
      ->transform(CLI::CheckedTransformer(primitive_words()));
  app.add_option("--inner", nodes.inner_nodes, "primitive of the inner nodes")
      ->transform(CLI::CheckedTransformer(primitive_words()));
  runtime::RuntimeOptions options;
  app.add_option("--epochs", options.epoch.mode, "when a worker publishes its epoch")
      ->transform(CLI::CheckedTransformer(epoch_words()));
  if (const auto code = mxkv::runtime::parse_or_exit(app, argc, argv)) {
    return *code;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);

  options.workers.push_back({.pu = runtime::PuId{0}, .node = runtime::NumaNodeId{0}, .pinned = false});
  options.prefetch.window = window;
  const runtime::SystemClock clock;
  runtime::Runtime runtime{options, clock};
  Tree tree{runtime, nodes};
  Worker& worker = runtime.worker(runtime::WorkerId{0});
  Run run;
  run.keys = keys;
  run.first = ascending ? bench::kFirstAscending : 0;

  const auto spawn_insert = [&](Worker& on) { on.create<WriteTask>(tree, run, true)->start(on); };
  const auto spawn_update = [&](Worker& on) { on.create<WriteTask>(tree, run, false)->start(on); };
  const auto spawn_read = [&](Worker& on) { on.create<ReadTask>(tree, run)->start(on); };

  std::printf("%-34s %8.2f Mops/s\n",
              ascending ? "load from empty, in order" : "load from empty, random order",
              measure(runtime, run, keys, window, spawn_insert));
  std::vector<Variant> variants{
      {"look-ups, prefetch at spawn", {runtime::prefetch_mode::at_spawn, 8, window}, {}},
      {"look-ups, prefetch distance 24", {runtime::prefetch_mode::distance, 24, window}, {}},
      {"look-ups, prefetch off", {runtime::prefetch_mode::off, 8, window}, {}},
  };
  if (profile) {
    std::printf("%-34s %8.2f Mops/s\n", variants[0].name.c_str(),
                measure(runtime, run, operations, window, spawn_read));
    return run.wrong == 0 ? 0 : 1;
  }
  for (unsigned round = 0; round < rounds; ++round) {
    for (Variant& variant : variants) {
      worker.set_prefetch(variant.prefetch);
      variant.reads.push_back(measure(runtime, run, operations, window, spawn_read));
    }
  }
  for (const Variant& variant : variants) {
    std::printf("%-34s %8.2f Mops/s\n", variant.name.c_str(), bench::median(variant.reads));
  }
  std::printf("%-34s %8.2f times\n", "prefetch at spawn against off",
              bench::median(variants[0].reads) / bench::median(variants[2].reads));
  worker.set_prefetch({runtime::prefetch_mode::at_spawn, 8, window});
  std::printf("%-34s %8.2f Mops/s\n", "updates", measure(runtime, run, operations, window, spawn_update));
  const auto report = index::Checker<Traits>::check(tree);
  std::printf("%-34s %8.2f\n", "entries a node",
              static_cast<double>(report.entries) / static_cast<double>(report.nodes));
  if (run.wrong > 0 || !report.ok() || report.entries != keys) {
    std::fprintf(stderr, "%zu wrong results, %zu violated invariants, %zu entries\n",
                 static_cast<std::size_t>(run.wrong), report.errors.size(), report.entries);
    return 1;
  }
  return 0;
}
