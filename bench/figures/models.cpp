// [Mx fig. 12]: the same Blink-tree on MxTasks, std::thread and oneTBB, each serialized, with reader/writer
// latches and optimistic. A round fills a fresh tree (inserts), then updates and looks up, all with all
// workers.
#include <map>
#include <thread>

#include "bench/figures/figure.hpp"
#include "bench/figures/tree_models.hpp"
#include "index/checker.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::tree_operation;
using runtime::primitive;

/// One way to run a tree: a bar in each of three charts.
struct Session {
  std::string model;
  std::string synchronization;
  primitive how;
  std::uint64_t operations_a_task;  ///< of oneTBB; 0: chained operations
};

struct Sizes {
  std::uint64_t keys = 10'000'000;
  std::uint64_t operations = 4'000'000;
  std::uint64_t window = 64;
  std::uint64_t workers = std::max(1U, std::thread::hardware_concurrency());
};

struct Results {
  std::map<std::string, std::vector<double>> rates;  ///< by unit
  std::uint64_t wrong = 0;
};

double run_model(const Session& session, bench::ModelTree& on, bench::SharedWork& work, const Sizes& sizes) {
  if (session.model == "MxTasks") {
    return bench::run_mxtasks(on, work, sizes.window);
  }
#if MXKV_HAVE_TBB
  if (session.operations_a_task > 0) {
    return bench::run_tbb(on, work, session.operations_a_task);
  }
#endif
  return bench::run_threads(on, work);
}

void run_session(const Session& session, const Sizes& sizes, Results& results) {
  bench::ModelTree on{sizes.workers, session.how};
  const auto measure = [&](tree_operation what, std::uint64_t operations, const std::string& unit) {
    bench::SharedWork work{what, operations, sizes.keys, session.operations_a_task == 0, sizes.workers};
    const double seconds = run_model(session, on, work, sizes);
    results.rates[unit].push_back(static_cast<double>(operations) / seconds / 1e6);
    results.wrong += work.wrong();
  };
  measure(tree_operation::insert, sizes.keys, "million inserts/s");
  measure(tree_operation::update, sizes.operations, "million updates/s");
  measure(tree_operation::look_up, sizes.operations, "million look-ups/s");
  const auto report = index::Checker<bench::IntegerTraits>::check(on.tree);
  if (!report.ok() || report.entries != sizes.keys) {
    ++results.wrong;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  std::string only;
  bench::Figure figure{"models", "The same tree on MxTasks, std::thread and oneTBB [Mx fig. 12]"};
  figure.number("keys", sizes.keys, "keys inserted");
  figure.number("operations", sizes.operations, "updates, and look-ups, a measurement");
  figure.number("window", sizes.window, "MxTasks in flight for each worker", 1, 256);
  figure.number("workers", sizes.workers, "workers or threads", 1, 256);
  figure.text("only", only, "one kind of synchronisation: serialized, latched or optimistic");
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  std::vector<Session> sessions{
      {"MxTasks", "optimistic", primitive::optimistic_latch, 0},
      {"std::thread", "optimistic", primitive::optimistic_latch, 0},
      {"MxTasks", "latched", primitive::reader_writer_latch, 0},
      {"std::thread", "latched", primitive::reader_writer_latch, 0},
      {"MxTasks", "serialized", primitive::serialized_by_scheduling, 0},
      {"std::thread", "serialized", primitive::spin_latch, 0},
  };
#if MXKV_HAVE_TBB
  sessions.push_back({"oneTBB", "optimistic", primitive::optimistic_latch, 1});
  sessions.push_back({"oneTBB, 64 operations a task", "optimistic", primitive::optimistic_latch, 64});
  sessions.push_back({"oneTBB", "latched", primitive::reader_writer_latch, 1});
  sessions.push_back({"oneTBB", "serialized", primitive::spin_latch, 1});
#else
  figure.note("built without oneTBB (libtbb-dev)");
#endif
  if (!only.empty()) {
    std::erase_if(sessions, [&only](const Session& session) { return session.synchronization != only; });
    if (sessions.empty()) {
      figure.note("--only: not serialized, latched or optimistic: " + only);
      return 2;
    }
  }
  std::vector<Results> results(sessions.size());
  for (std::uint64_t round = 0; round < figure.rounds(); ++round) {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      run_session(sessions[i], sizes, results[i]);
    }
  }
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    for (const auto& [unit, rates] : results[i].rates) {
      figure.point(sessions[i].model, sessions[i].synchronization, bench::median(rates), unit);
    }
    wrong += results[i].wrong;
  }
  if (wrong > 0) {
    figure.note(std::to_string(wrong) + " wrong results");
    return 1;
  }
  return 0;
}
