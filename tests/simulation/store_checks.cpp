#include "tests/simulation/store_checks.hpp"

#include "index/checker.hpp"
#include "tests/unit/server/store/full_count.hpp"

namespace mxkv::simulation {

namespace {

/// Counts operations, and checks the sums that a bank shows.
class Auditor {
 public:
  Auditor(const RequestOptions& options, StoreReport& report, Complaints& complaints)
      : options_(options), report_(report), complaints_(complaints) {}

  void look_at(const Operation& op) {
    const bool done = op.end == ending::done;
    const bool no_memory = op.end == ending::no_memory;
    report_.cut_off += op.responded == Operation::kNever ? 1 : 0;
    switch (op.what) {
      case operation::line:
        report_.refused_lines += no_memory ? 1 : 0;
        break;
      case operation::batch:
        report_.batches += done ? 1 : 0;
        report_.failed_batches += op.end == ending::failed ? 1 : 0;
        report_.refused_batches += no_memory ? 1 : 0;
        report_.refused_midway += no_memory && op.failed_line + 1 < op.lines.size() ? 1 : 0;
        break;
      case operation::page:
        report_.pages += op.locked && done ? 1 : 0;
        if (options_.bank && op.locked && done && op.last == options_.keys && op.first == 0) {
          check_sum(op);
        }
        break;
      case operation::count:
        report_.counts += done ? 1 : 0;
        complaints_.unless(!options_.bank || !done || op.sum == whole_sum(),
                           "a count comes to another sum than at the beginning");
        break;
      case operation::erase:
        report_.erased += op.locked && done ? 1 : 0;
        break;
      case operation::touch:
        report_.touched += done ? 1 : 0;
        report_.refused_touches += no_memory ? 1 : 0;
        break;
    }
  }

 private:
  [[nodiscard]] std::uint64_t whole_sum() const { return options_.keys * options_.begin_number; }
  void check_sum(const Operation& page) {
    std::uint64_t sum = 0;
    for (const SeenItem& item : page.seen) {
      sum += item.number;
    }
    complaints_.unless(sum == whole_sum(), "a page shows another sum than at the beginning");
  }

  const RequestOptions& options_;
  StoreReport& report_;
  Complaints& complaints_;
};

}  // namespace

void check_locks(server::Store& store, runtime::Runtime& runtime, Complaints& complaints) {
  server::RangeLocks& locks = store.locks();
  bool open = locks.gate.all_open();
  for (std::uint32_t slot = 0; slot < locks.toggle.slots(); ++slot) {
    open = open && locks.gate.is_open(slot);
  }
  complaints.unless(open, "a slot is not open");
  complaints.unless(locks.gate.discard_waiting(runtime.worker(runtime::WorkerId{0})) == 0,
                    "something waits at the gate");
  complaints.unless(locks.toggle.discard_waiting(runtime) == 0, "an operation waits in Toggle");
}

void check_history(const StoreHistory& history, const StoreWorldOptions& options, StoreReport& report,
                   Complaints& complaints) {
  if (const auto wrong = history.contradiction()) {
    complaints.add(*wrong);
  }
  report.recorded = history.size();
  report.given_up = history.given_up();
  Auditor auditor{options.requests, report, complaints};
  for (const Operation& op : history.operations()) {
    auditor.look_at(op);
  }
  complaints.unless(report.refused_batches + report.refused_touches + report.refused_lines == 0 ||
                        options.world.short_of_memory,
                    "out of memory, though there was some");
}

void check_items(server::Store& store, const StoreHistory& history, const StoreWorldOptions& options,
                 StoreReport& report, Complaints& complaints) {
  const WorldOptions& world = options.world;
  const index::CheckReport tree = index::Checker<server::ItemTraits>::check(store.tree());
  for (const std::string& error : tree.errors) {
    complaints.add("tree: " + error);
  }
  complaints.unless(tree.pending == 0 || world.short_of_memory || world.ends_early,
                    "a node's separator was never posted");
  complaints.unless(tree.frozen == 0 || world.ends_early, "a node was frozen and never unlinked");
  complaints.unless(tree.claimed == 0 || world.ends_early, "a node waits to be unlinked");
  complaints.unless(tree.left_over == 0 || world.ends_early, "a node was not unlinked");
  const bool items_stay =
      !options.requests.expiry && !options.requests.runs_expire && !options.store.evict && !options.evicts;
  if (items_stay && !world.ends_early && complaints.empty()) {
    complaints.unless(tree.entries == history.operations().back().items, "items are left that nobody sees");
  }
  report.deep_trees = tree.levels > 2 ? 1 : 0;
}

void check_counts(server::Store& store, Complaints& complaints) {
  if (const std::string wrong = server::testing::wrong_count(store); !wrong.empty()) {
    complaints.add(wrong);
  }
}

}  // namespace mxkv::simulation
