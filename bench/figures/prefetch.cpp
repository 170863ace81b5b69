// [Mx figs. 10a to 10c]: prefetching off, by distances, at spawn, and tuned at run time, on a Blink-tree of
// 64-bit keys with one worker: look-ups (YCSB C), reads and updates half and half (A), of uniform and of
// zipfian keys, and inserts. The time of stalls is estimated as the difference between an operation's time
// among all keys and among a few keys, whose way through the same tree is cached.
//
// All modes take their turns in one loop. A tuned worker first works until its tuner has settled; later surveys
// fall into the measurement.
//
// --profile MODE (off, at-spawn, auto, or a distance) does look-ups in that mode and prints nothing: `run`
// counts its instructions with callgrind.
#include <algorithm>
#include <charconv>

#include "bench/figures/figure.hpp"
#include "bench/figures/tree_models.hpp"

namespace {

using namespace mxkv;  // NOLINT(google-build-using-namespace): a program, not a header
using bench::SharedWork;
using bench::tree_operation;
using runtime::prefetch_mode;
using runtime::PrefetchOptions;

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

/// One workload of a figure's charts.
struct Workload {
  std::string series;
  tree_operation what;
  const std::vector<std::uint32_t>* popular;
  std::uint64_t keys;
};

/// Look-ups and updates by mode, with one worker.
class Modes {
 public:
  Modes(std::uint64_t keys, std::uint64_t operations, std::uint64_t window)
      : keys_(keys),
        operations_(operations),
        window_(window),
        popular_(bench::popular_records(keys)),
        on_(1, bench::all_nodes(runtime::primitive::optimistic_latch),
            {.window = static_cast<std::uint32_t>(window)}) {
    run({"", tree_operation::insert, nullptr, keys}, keys);
  }

  [[nodiscard]] std::vector<Workload> workloads() const {
    return {{"look-ups, uniform", tree_operation::look_up, nullptr, keys_},
            {"look-ups, zipfian", tree_operation::look_up, &popular_, keys_},
            {"reads and updates, uniform", tree_operation::read_update, nullptr, keys_},
            {"reads and updates, zipfian", tree_operation::read_update, &popular_, keys_}};
  }
  [[nodiscard]] PrefetchOptions mode(const std::string& text) const {
    return *mode_from(text, static_cast<std::uint32_t>(window_));
  }

  /// Seconds of CPU time for so many operations.
  double run(const Workload& load, std::uint64_t operations) {
    SharedWork work{load.what, operations, load.keys, true, 1, load.popular};
    if (load.what == tree_operation::insert) {
      work.insert_from(inserted_);
      inserted_ += operations;
    }
    const double seconds = bench::run_alone(on_, work, window_);
    wrong_ += work.wrong();
    return seconds;
  }
  void set(const PrefetchOptions& mode) { on_.runtime.worker(runtime::WorkerId{0}).set_prefetch(mode); }
  /// Million operations a second of CPU time.
  double rate(const std::string& mode_name, const Workload& load) {
    const PrefetchOptions prefetch = mode(mode_name);
    set(prefetch);
    if (prefetch.mode == prefetch_mode::tuned) {
      run(load, std::min(operations_, kOperationsToSettle));
    }
    const std::uint64_t operations =
        load.what == tree_operation::insert ? std::max<std::uint64_t>(1, operations_ / 4) : operations_;
    return static_cast<double>(operations) / run(load, operations) / 1e6;
  }
  [[nodiscard]] std::uint64_t wrong() const noexcept { return wrong_; }

 private:
  std::uint64_t keys_;
  std::uint64_t operations_;
  std::uint64_t window_;
  std::vector<std::uint32_t> popular_;
  bench::ModelTree on_;
  std::uint64_t inserted_ = 0;
  std::uint64_t wrong_ = 0;
};

/// The rate of a variant.
double rate_of(const std::vector<bench::Variant>& variants, const std::vector<double>& rates,
               const std::string& series, const std::string& mode) {
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].series == series && std::get<std::string>(variants[i].x) == mode) {
      return rates[i];
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t keys = 10'000'000;
  std::uint64_t operations = 2'000'000;
  std::uint64_t window = 64;
  std::string profile;
  bench::Figure figure{"prefetch", "Prefetching off, by distance, at spawn, and tuned [Mx fig. 10]"};
  figure.number("keys", keys, "keys in the tree");
  figure.number("operations", operations, "operations a measurement; a quarter of them where they insert", 0);
  figure.number("window", window, "operations in flight", 1, 256);
  figure.text("profile", profile,
              "only look-ups in this mode, without output: off, at-spawn, auto or a distance");
  if (const auto code = figure.parse(argc, argv)) {
    return *code;
  }
  if (!profile.empty() && !mode_from(profile, 1)) {
    figure.note("--profile: not off, at-spawn, auto or 1-64: " + profile);
    return 2;
  }
  Modes modes{keys, operations, window};
  if (!profile.empty()) {
    modes.set(modes.mode(profile));
    modes.run(modes.workloads().front(), operations);
    return modes.wrong() == 0 ? 0 : 1;
  }

  const std::vector<std::string> all{"off", "1",  "2",  "4",  "8",        "16",
                                     "24",  "32", "48", "64", "at-spawn", "auto"};
  const std::vector<std::string> some{"off", "2", "at-spawn"};
  std::vector<bench::Variant> variants;
  const auto add = [&](const Workload& load, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      variants.push_back({load.series, name, [&modes, load, name] { return modes.rate(name, load); }});
    }
  };
  const std::vector<Workload> loads = modes.workloads();
  for (const Workload& load : loads) {
    add(load, all);
  }
  for (const auto& [series, what] : {std::pair{"look-ups, cached", tree_operation::look_up},
                                     std::pair{"reads and updates, cached", tree_operation::read_update}}) {
    add({series, what, nullptr, std::min(keys, bench::kCachedKeys)}, some);
  }
  add({"inserts", tree_operation::insert, nullptr, keys}, some);
  const std::vector<double> rates = figure.measure(variants, "million operations/s");

  for (const Workload& load : loads) {
    const std::string cached = load.series.substr(0, load.series.find(',')) + ", cached";
    for (const std::string& name : some) {
      const double stalled =
          1 / rate_of(variants, rates, load.series, name) - 1 / rate_of(variants, rates, cached, name);
      figure.point(load.series, name, stalled * 1e3, "ns an operation stalls (estimate)");
    }
  }
  if (modes.wrong() > 0) {
    figure.note(std::to_string(modes.wrong()) + " wrong results");
    return 1;
  }
  return 0;
}
