// [MK figs. 3 to 6]: the Blink-tree by cores. Optimistic nodes, as OLFIT whose writers are scheduled and
// under latches, with and without prefetching; serialized nodes by scheduling, with idle workers stealing
// pools or not; and oneTBB's tasks under reader/writer latches. A round fills a fresh tree, then looks up,
// with all workers. Optimistic nodes are looked up a second time with a few keys, whose way stays cached. The
// longer time of a look-up among all keys is an estimate of its stalls.
#include <algorithm>
#include <map>
#include <thread>

#include "bench/figures/figure.hpp"
#include "bench/figures/tree_models.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::tree_operation;
using runtime::prefetch_mode;
using runtime::primitive;
using runtime::stealing_scope;

struct Line {
  std::string name;
  std::string nodes;  ///< optimistic or serialized
  bench::NodePrimitives how;
  bool tbb;
  bench::ModelOptions options;
};

struct Sizes {
  std::uint64_t keys = 2'000'000;
  std::uint64_t operations = 1'000'000;
  std::uint64_t window = 64;
};

struct Point {
  const Line* line;
  std::uint64_t workers;
  std::map<std::string, std::vector<double>> rates;  ///< by unit
};

std::uint64_t measure(Point& point, const Sizes& sizes) {
  bench::ModelTree on{point.workers, point.line->how, point.line->options};
  std::uint64_t wrong = 0;
  const auto run = [&](tree_operation what, std::uint64_t operations, std::uint64_t keys) {
    bench::SharedWork work{what, operations, keys, !point.line->tbb, point.workers};
#if MXKV_HAVE_TBB
    const double seconds =
        point.line->tbb ? bench::run_tbb(on, work, 1) : bench::run_mxtasks(on, work, sizes.window);
#else
    const double seconds = bench::run_mxtasks(on, work, sizes.window);
#endif
    wrong += work.wrong();
    return seconds;
  };
  const auto millions = [](std::uint64_t operations) { return static_cast<double>(operations) / 1e6; };
  const double inserting = run(tree_operation::insert, sizes.keys, sizes.keys);
  const double looking_up = run(tree_operation::look_up, sizes.operations, sizes.keys);
  point.rates["million inserts/s"].push_back(millions(sizes.keys) / inserting);
  point.rates["million look-ups/s"].push_back(millions(sizes.operations) / looking_up);
  if (point.line->nodes == "optimistic") {
    const double cached =
        run(tree_operation::look_up, sizes.operations, std::min(sizes.keys, bench::kCachedKeys));
    point.rates["ns a look-up of a worker, stalled (estimate)"].push_back(
        (looking_up - cached) * 1e3 * static_cast<double>(point.workers) / millions(sizes.operations));
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  std::string workers = bench::all_worker_numbers();
  std::string only;
  bench::Figure figure{"cores",
                       "The tree by cores: prefetching, oneTBB, scheduling, stealing [MK figs. 3-6]"};
  figure.number("keys", sizes.keys, "keys inserted");
  figure.number("operations", sizes.operations, "look-ups a measurement");
  figure.number("window", sizes.window, "MxTasks in flight for each worker", 1, 256);
  figure.text("workers", workers, "numbers of workers or threads, such as 1,2,4");
  figure.text("only", only, "one kind of nodes: optimistic or serialized");
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  const std::vector<std::uint64_t> cores = bench::worker_numbers(workers);
  if (cores.empty()) {
    figure.note("--workers: not numbers from 1 to 256 with commas between: " + workers);
    return 2;
  }
  const bench::NodePrimitives latched = bench::all_nodes(primitive::optimistic_latch);
  const bench::NodePrimitives olfit = bench::all_nodes(primitive::optimistic_scheduling);
  const bench::NodePrimitives serialized = bench::all_nodes(primitive::serialized_by_scheduling);
  std::vector<Line> lines{
      {"prefetching", "optimistic", latched, false, {}},
      {"no prefetching", "optimistic", latched, false, {.prefetch = prefetch_mode::off}},
      {"OLFIT, writers scheduled", "optimistic", olfit, false, {}},
      {"serialized, stealing", "serialized", serialized, false, {}},
      {"serialized, no stealing", "serialized", serialized, false, {.stealing = stealing_scope::off}},
      {"OLFIT, the same keys", "serialized", olfit, false, {}},
  };
#if MXKV_HAVE_TBB
  lines.push_back({"oneTBB, reader/writer latches",
                   "serialized",
                   bench::all_nodes(primitive::reader_writer_latch),
                   true,
                   {}});
#else
  figure.note("built without oneTBB (libtbb-dev)");
#endif
  if (!only.empty()) {
    std::erase_if(lines, [&only](const Line& line) { return line.nodes != only; });
    if (lines.empty()) {
      figure.note("--only: not optimistic or serialized: " + only);
      return 2;
    }
  }
  if (*std::max_element(cores.begin(), cores.end()) > std::thread::hardware_concurrency()) {
    figure.note("more workers than CPUs");
  }
  std::vector<Point> points;
  for (const Line& line : lines) {
    for (const std::uint64_t number : cores) {
      points.push_back({&line, number, {}});
    }
  }
  std::uint64_t wrong = 0;
  for (std::uint64_t round = 0; round < figure.rounds(); ++round) {
    for (Point& point : points) {
      wrong += measure(point, sizes);
    }
  }
  for (const Point& point : points) {
    for (const auto& [unit, rates] : point.rates) {
      figure.point(point.line->name, static_cast<double>(point.workers), bench::median(rates), unit);
    }
  }
  if (wrong > 0) {
    figure.note(std::to_string(wrong) + " wrong results");
    return 1;
  }
  return 0;
}
