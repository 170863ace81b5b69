#include "bench/figures/figure.hpp"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <thread>
#include <type_traits>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/report/machine.hpp"
#include "runtime/base/command_line.hpp"
#include "runtime/base/standard_streams.hpp"

namespace mxkv::bench {

struct Figure::Output {
  CLI::App app;
  std::vector<std::function<void(nlohmann::ordered_json&)>> parameters;
  nlohmann::ordered_json parameter_values = nlohmann::ordered_json::object();
  nlohmann::ordered_json machine;

  template <class T>
  void add_parameter(const std::string& flag, const T& value) {
    parameters.emplace_back([flag, &value](nlohmann::ordered_json& out) { out[flag] = value; });
  }
};

namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

Figure::Figure(std::string name, std::string what)
    : name_(std::move(name)), output_(std::make_unique<Output>()) {
  runtime::open_standard_streams();
  output_->app.description(std::move(what));
  output_->app.name("figure-" + name_);
  number("rounds", rounds_, "measurements of each variant, in turn", 1, 1000);
  output_->app.add_option("--commit", commit_, "the sources' version, for the output");
}

Figure::~Figure() = default;

void Figure::number(const std::string& flag, std::uint64_t& value, const std::string& help,
                    std::uint64_t least, std::uint64_t most) {
  output_->app.add_option("--" + flag, value, help)->capture_default_str()->check(CLI::Range(least, most));
  output_->add_parameter(flag, value);
}

void Figure::text(const std::string& flag, std::string& value, const std::string& help) {
  output_->app.add_option("--" + flag, value, help)->capture_default_str();
  output_->add_parameter(flag, value);
}

void Figure::flag(const std::string& flag, bool& value, const std::string& help) {
  output_->app.add_flag("--" + flag, value, help);
}

std::optional<int> Figure::parse(int argc, char** argv) {
  if (const auto code = runtime::parse_or_exit(output_->app, argc, argv)) {
    return code;
  }
  for (const auto& add : output_->parameters) {
    add(output_->parameter_values);
  }
  const Machine machine = this_machine();
  output_->machine = {{"cpu", machine.cpu_model},
                      {"cpus", machine.cpus_allowed},
                      {"memory_bytes", machine.memory_bytes},
                      {"kernel", machine.kernel},
                      {"system", machine.system}};
  return std::nullopt;
}

std::vector<double> Figure::measure(const std::vector<Variant>& variants, const std::string& unit) {
  std::vector<std::vector<double>> measured(variants.size());
  for (std::uint64_t round = 0; round < rounds_; ++round) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      measured[i].push_back(variants[i].measure());
    }
  }
  std::vector<double> medians;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    medians.push_back(median(measured[i]));
    print(variants[i].series, variants[i].x, medians.back(), unit, measured[i]);
  }
  return medians;
}

void Figure::point(const std::string& series, const FigureX& x, double y, const std::string& unit) {
  print(series, x, y, unit, {});
}

void Figure::print(const std::string& series, const FigureX& x, double y, const std::string& unit,
                   const std::vector<double>& rounds) {
  nlohmann::ordered_json line{{"figure", name_}, {"series", series}};
  std::visit([&line](const auto& value) { line["x"] = value; }, x);
  line["y"] = y;
  line["unit"] = unit;
  line["parameters"] = output_->parameter_values;
  line["machine"] = output_->machine;
  line["commit"] = commit_;
  if (!rounds.empty()) {
    line["rounds"] = rounds;
  }
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

void Figure::note(const std::string& text) const {
  std::fprintf(stderr, "%s: %s\n", name_.c_str(), text.c_str());
}

std::vector<std::uint64_t> worker_numbers(const std::string& text) {
  constexpr std::uint64_t kMost = 256;
  std::vector<std::uint64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::uint64_t number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || number < 1 || number > kMost || (after != end && *after != ',')) {
      return {};
    }
    numbers.push_back(number);
    if (after == end) {
      return numbers;
    }
    at = after + 1;
  }
}

std::string all_worker_numbers() {
  const std::uint64_t all = std::max(1U, std::thread::hardware_concurrency());
  std::string list;
  for (std::uint64_t number = 1; number < all; number *= 2) {
    list += std::to_string(number) + ",";
  }
  return list + std::to_string(all);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double thread_cpu_seconds() {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double process_cpu_seconds() {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double wall_seconds() {
  return seconds_of(CLOCK_MONOTONIC);
}

}  // namespace mxkv::bench
