// [Mx fig. 12]: the same Blink-tree on MxTasks, std::thread and oneTBB, each serialized, with reader/writer
// latches and optimistic. Optimistic nodes on MxTasks come also with all writers scheduled, and, as in the
// paper, with only the writers of inner nodes scheduled. A round fills a fresh tree (inserts), then reads and
// updates half and half and looks up, of uniform and of zipfian keys (YCSB A and C), all with all workers.
#include <algorithm>
#include <map>
#include <thread>
#include <unordered_map>

#include "bench/figures/figure.hpp"
#include "bench/figures/tree_models.hpp"
#include "index/checker.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::tree_operation;
using runtime::primitive;

enum class model : std::uint8_t { mxtasks, threads, tbb };

/// One way to run a tree: a bar in each chart.
struct Session {
  std::string series;
  model what;
  std::string synchronization;
  bench::NodePrimitives how;
  std::uint64_t operations_a_task = 0;  ///< of oneTBB
};

struct Sizes {
  std::uint64_t keys = 10'000'000;
  std::uint64_t operations = 4'000'000;
  std::uint64_t window = 64;
  std::uint64_t workers = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::uint32_t> popular;
};

struct Results {
  std::map<std::pair<std::string, std::string>, std::vector<double>> points;  ///< by x and unit
  std::uint64_t wrong = 0;
};

double run_model(const Session& session, bench::ModelTree& on, bench::SharedWork& work, const Sizes& sizes) {
  switch (session.what) {
    case model::mxtasks:
      return bench::run_mxtasks(on, work, sizes.window);
    case model::threads:
      return bench::run_threads(on, work);
    case model::tbb:
      break;
  }
#if MXKV_HAVE_TBB
  return bench::run_tbb(on, work, session.operations_a_task);
#else
  return 1;
#endif
}

void run_session(const Session& session, const Sizes& sizes, Results& results) {
  bench::ModelTree on{sizes.workers, session.how};
  const auto measure = [&](tree_operation what, std::uint64_t operations, const std::string& keys,
                           const std::string& unit) {
    bench::SharedWork work{what,          operations,
                           sizes.keys,    session.what == model::mxtasks,
                           sizes.workers, keys == "zipfian" ? &sizes.popular : nullptr};
    const std::string x = keys.empty() ? session.synchronization : session.synchronization + ", " + keys;
    const std::uint64_t tasks = on.tasks();
    const double seconds = run_model(session, on, work, sizes);
    const auto of_all = static_cast<double>(operations);
    results.points[{x, unit}].push_back(of_all / seconds / 1e6);
    if (what == tree_operation::look_up) {
      results.points[{x, "tasks a look-up"}].push_back(static_cast<double>(on.tasks() - tasks) / of_all);
    } else if (what == tree_operation::read_update) {
      results.points[{x, "% of reads and updates that update"}].push_back(
          static_cast<double>(work.written()) * 100 / of_all);
    }
    results.wrong += work.wrong();
  };
  measure(tree_operation::insert, sizes.keys, "", "million inserts/s");
  for (const std::string keys : {"uniform", "zipfian"}) {
    measure(tree_operation::read_update, sizes.operations, keys, "million reads and updates/s");
    measure(tree_operation::look_up, sizes.operations, keys, "million look-ups/s");
  }
  const auto report = index::Checker<bench::IntegerTraits>::check(on.tree);
  if (!report.ok() || report.entries != sizes.keys) {
    ++results.wrong;
  }
}

std::vector<Session> all_sessions() {
  const bench::NodePrimitives optimistic = bench::all_nodes(primitive::optimistic_latch);
  const bench::NodePrimitives latched = bench::all_nodes(primitive::reader_writer_latch);
  const bench::NodePrimitives spin = bench::all_nodes(primitive::spin_latch);
  std::vector<Session> sessions{
      {"MxTasks", model::mxtasks, "optimistic", optimistic},
      {"MxTasks, inner nodes scheduled", model::mxtasks, "optimistic", bench::kPapersMix},
      {"MxTasks, all nodes scheduled", model::mxtasks, "optimistic",
       bench::all_nodes(primitive::optimistic_scheduling)},
      {"std::thread", model::threads, "optimistic", optimistic},
      {"MxTasks", model::mxtasks, "latched", latched},
      {"std::thread", model::threads, "latched", latched},
      {"MxTasks", model::mxtasks, "serialized", bench::all_nodes(primitive::serialized_by_scheduling)},
      {"std::thread", model::threads, "serialized", spin},
  };
#if MXKV_HAVE_TBB
  sessions.push_back({"oneTBB", model::tbb, "optimistic", optimistic, 1});
  sessions.push_back({"oneTBB, 64 operations a task", model::tbb, "optimistic", optimistic, 64});
  sessions.push_back({"oneTBB", model::tbb, "latched", latched, 1});
  sessions.push_back({"oneTBB", model::tbb, "serialized", spin, 1});
#endif
  return sessions;
}

/// Per cent of the draws that go to the most popular hundredth of the keys.
double share_of_most_popular(const Sizes& sizes) {
  std::unordered_map<std::uint32_t, std::uint64_t> draws;
  for (const std::uint32_t record : sizes.popular) {
    ++draws[record];
  }
  std::vector<std::uint64_t> counts;
  for (const auto& [record, count] : draws) {
    counts.push_back(count);
  }
  std::ranges::sort(counts, std::greater{});
  counts.resize(std::min<std::size_t>(counts.size(), std::max<std::uint64_t>(1, sizes.keys / 100)));
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts) {
    sum += count;
  }
  return static_cast<double>(sum) * 100 / static_cast<double>(sizes.popular.size());
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  std::string only;
  bench::Figure figure{"models", "The same tree on MxTasks, std::thread and oneTBB [Mx fig. 12]"};
  figure.number("keys", sizes.keys, "keys inserted");
  figure.number("operations", sizes.operations, "operations a measurement");
  figure.number("window", sizes.window, "MxTasks in flight for each worker", 1, 256);
  figure.number("workers", sizes.workers, "workers or threads", 1, 256);
  figure.text("only", only, "one kind of synchronisation: serialized, latched or optimistic");
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  std::vector<Session> sessions = all_sessions();
  if (!bench::kHasTbb) {
    figure.note("built without oneTBB (libtbb-dev)");
  }
  if (!only.empty()) {
    std::erase_if(sessions, [&only](const Session& session) { return session.synchronization != only; });
    if (sessions.empty()) {
      figure.note("--only: not serialized, latched or optimistic: " + only);
      return 2;
    }
  }
  sizes.popular = bench::popular_records(sizes.keys);
  std::vector<Results> results(sessions.size());
  for (std::uint64_t round = 0; round < figure.rounds(); ++round) {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      run_session(sessions[i], sizes, results[i]);
    }
  }
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    for (const auto& [point, measured] : results[i].points) {
      figure.point(sessions[i].series, point.first, bench::median(measured), point.second);
    }
    wrong += results[i].wrong;
  }
  figure.point("zipfian", "of a hundredth of the keys", share_of_most_popular(sizes), "% of the draws");
  if (wrong > 0) {
    figure.note(std::to_string(wrong) + " wrong results");
    return 1;
  }
  return 0;
}
