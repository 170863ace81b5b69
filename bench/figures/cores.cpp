// [MK figs. 3b, 4, 5a, 5b, 6]: the Blink-tree by cores. Optimistic nodes with and without prefetching;
// serialized ones by scheduling, with idle workers stealing pools or not, and as oneTBB's tasks under spin
// latches. A round fills a fresh tree, then looks up, with all of so many workers.
#include <algorithm>
#include <charconv>
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
  primitive how;
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

/// 1, 2, 4 ... up to all CPUs.
std::string all_cores() {
  const std::uint64_t all = std::max(1U, std::thread::hardware_concurrency());
  std::string list;
  for (std::uint64_t cores = 1; cores < all; cores *= 2) {
    list += std::to_string(cores) + ",";
  }
  return list + std::to_string(all);
}

/// "1,2,4"; empty where it is no such list.
std::vector<std::uint64_t> cores_from(const std::string& text) {
  constexpr std::uint64_t kMost = 256;
  std::vector<std::uint64_t> cores;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::uint64_t number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || number < 1 || number > kMost || (after != end && *after != ',')) {
      return {};
    }
    cores.push_back(number);
    if (after == end) {
      return cores;
    }
    at = after + 1;
  }
}

std::uint64_t measure(Point& point, const Sizes& sizes) {
  bench::ModelTree on{point.workers, point.line->how, point.line->options};
  std::uint64_t wrong = 0;
  const auto run = [&](tree_operation what, std::uint64_t operations, const std::string& unit) {
    bench::SharedWork work{what, operations, sizes.keys, !point.line->tbb, point.workers};
#if MXKV_HAVE_TBB
    const double seconds =
        point.line->tbb ? bench::run_tbb(on, work, 1) : bench::run_mxtasks(on, work, sizes.window);
#else
    const double seconds = bench::run_mxtasks(on, work, sizes.window);
#endif
    point.rates[unit].push_back(static_cast<double>(operations) / seconds / 1e6);
    wrong += work.wrong();
  };
  run(tree_operation::insert, sizes.keys, "million inserts/s");
  run(tree_operation::look_up, sizes.operations, "million look-ups/s");
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  std::string workers = all_cores();
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
  const std::vector<std::uint64_t> cores = cores_from(workers);
  if (cores.empty()) {
    figure.note("--workers: not numbers from 1 to 256 with commas between: " + workers);
    return 2;
  }
  constexpr primitive kScheduled = primitive::serialized_by_scheduling;
  std::vector<Line> lines{
      {"prefetching", "optimistic", primitive::optimistic_latch, false, {}},
      {"no prefetching", "optimistic", primitive::optimistic_latch, false, {.prefetch = prefetch_mode::off}},
      {"serialized, stealing", "serialized", kScheduled, false, {}},
      {"serialized, no stealing", "serialized", kScheduled, false, {.stealing = stealing_scope::off}},
  };
#if MXKV_HAVE_TBB
  lines.push_back({"oneTBB, spin latches", "serialized", primitive::spin_latch, true, {}});
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
