// index_bench: the tree beside its peers and its ceilings, for one kind of records. Prints lines of JSON: the
// first describes the measurement and the machine, each other line is a point. Exit codes: 0 done, 1 a wrong
// result, 2 usage.
#include <algorithm>
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/figures/figure.hpp"
#include "bench/index/session.hpp"
#include "bench/report/machine.hpp"
#include "runtime/base/command_line.hpp"
#include "runtime/base/standard_streams.hpp"

namespace {

using mxkv::bench::Plan;
using mxkv::bench::Row;
using mxkv::bench::workload;
using nlohmann::ordered_json;

void print_line(const ordered_json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

void print_about(const Plan& plan, const std::string& commit) {
  const mxkv::bench::Machine machine = mxkv::bench::this_machine();
  print_line({{"records", plan.records},
              {"keys", plan.keys},
              {"rounds", plan.rounds},
              {"milliseconds", plan.milliseconds},
              {"inserts", plan.inserts},
              {"line_bytes", plan.line_bytes},
              {"machine",
               {{"cpu", machine.cpu_model},
                {"cpus", machine.cpus_allowed},
                {"memory_bytes", machine.memory_bytes},
                {"kernel", machine.kernel},
                {"system", machine.system}}},
              {"commit", commit}});
}

void print_row(const Row& row) {
  const auto [least, most] = std::minmax_element(row.rounds.begin(), row.rounds.end());
  print_line({{"records", row.records},
              {"what", row.what},
              {"by", row.by},
              {"workers", row.workers},
              {"container", row.container},
              {"in_flight", row.in_flight},
              {"median", mxkv::bench::median(row.rounds)},
              {"least", *least},
              {"most", *most},
              {"rounds", row.rounds.size()},
              {"unit", row.unit}});
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const workload what :
       {workload::load, workload::read, workload::mixed, workload::insert, workload::scan}) {
    names.emplace_back(mxkv::bench::name_of(what));
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  mxkv::runtime::open_standard_streams();
  Plan plan;
  std::string commit = "unknown";
  CLI::App app{"The tree beside absl::btree_map, tbb::concurrent_map and its ceilings"};
  app.name("index_bench");
  const CLI::Range flights{1, 256};
  app.add_option("--records", plan.records, "keys: 64-bit, or of so many bytes with values of 100 bytes")
      ->capture_default_str()
      ->check(CLI::IsMember({"64-bit", "24-byte", "100-byte", "250-byte"}));
  app.add_option("--keys", plan.keys, "records loaded; of 100 and 250 bytes a fifth of it")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1000}, std::uint64_t{4'000'000'000}));
  app.add_option("--milliseconds", plan.milliseconds, "least time of one measurement")->capture_default_str();
  app.add_option("--rounds", plan.rounds, "measurements of a point, in turn with the others")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--inserts", plan.inserts, "inserts of one measurement")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{100}, std::uint64_t{1'000'000'000}));
  app.add_option("--workers", plan.workers, "numbers of workers, such as 1,2")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  app.add_option("--in-flight", plan.flights, "operations in flight of reads, such as 1,16,64")
      ->delimiter(',')
      ->check(flights);
  app.add_option("--few-in-flight", plan.few_flights, "the same of all else; load has the last")
      ->delimiter(',')
      ->check(flights);
  app.add_option("--only", plan.only, "this workload (may be repeated)")
      ->check(CLI::IsMember(workload_names()));
  app.add_option("--line-bytes", plan.line_bytes, "memory behind the random lines")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1} << 12U, std::uint64_t{1} << 40U));
  app.add_flag("!--no-peers", plan.peers, "our tree and its ceilings alone: some peers load slowly");
  app.add_option("--commit", commit, "the sources' version, for the output");
  if (const auto code = mxkv::runtime::parse_or_exit(app, argc, argv)) {
    return *code;
  }
  try {
    print_about(plan, commit);
    const std::string faults = plan.records == "64-bit"    ? measure_integers(plan, print_row)
                               : plan.records == "24-byte" ? measure_texts(plan, print_row)
                                                           : measure_long_keys(plan, print_row);
    std::fputs(faults.c_str(), stderr);
    return faults.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "index_bench: %s\n", error.what());
    return 1;
  }
}
