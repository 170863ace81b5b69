// The base of all programs of bench/figures: flags, rounds in turn, and one form of output.
//
// A point is one line of JSON: {"figure", "series", "x", "y", "unit", "parameters", "machine", "commit"}. `x`
// is a number, or a word where the figure compares kinds of things. Variants are measured in turn (A B A B)
// and the median of the rounds is the point, so that a disturbance of the machine hits all of them; "rounds" has
// their values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mxkv::bench {

using FigureX = std::variant<double, std::string>;

/// One point of a figure, with the function that measures it once.
struct Variant {
  std::string series;
  FigureX x;
  std::function<double()> measure;
};

/// Thread-safety: one thread.
class Figure {
 public:
  /// `name` as in the output and in paper.json; `what` for --help.
  Figure(std::string name, std::string what);
  ~Figure();
  Figure(const Figure&) = delete;
  Figure& operator=(const Figure&) = delete;

  /// Flags of this program; their values are the output's "parameters". The variables outlive parse().
  void number(const std::string& flag, std::uint64_t& value, const std::string& help, std::uint64_t least = 1,
              std::uint64_t most = 10'000'000'000);
  void text(const std::string& flag, std::string& value, const std::string& help);
  void flag(const std::string& flag, bool& value, const std::string& help);

  /// Reads the command line. An exit code where the program is to end: 0 after --help, 2 after a bad flag.
  [[nodiscard]] std::optional<int> parse(int argc, char** argv);

  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_; }

  /// Measures all variants once a round, in turn; prints and returns the medians in the variants' order.
  std::vector<double> measure(const std::vector<Variant>& variants, const std::string& unit);
  /// Prints one point.
  void point(const std::string& series, const FigureX& x, double y, const std::string& unit);
  /// Prints a note for the reader on stderr, such as a missing program.
  void note(const std::string& text) const;

 private:
  struct Output;
  void print(const std::string& series, const FigureX& x, double y, const std::string& unit,
             const std::vector<double>& rounds);

  std::string name_;
  std::uint64_t rounds_ = 5;
  std::string commit_ = "unknown";
  std::unique_ptr<Output> output_;
};

/// "1,2,4"; empty where it is no list of numbers from 1 to 256.
[[nodiscard]] std::vector<std::uint64_t> worker_numbers(const std::string& text);
/// 1, 2, 4 ... up to all CPUs, in the form that worker_numbers() reads.
[[nodiscard]] std::string all_worker_numbers();

/// The middle value (of an even number the upper one); `values` is not empty.
[[nodiscard]] double median(std::vector<double> values);

/// Seconds of CPU time of the calling thread: other programs on the machine do not count.
[[nodiscard]] double thread_cpu_seconds();
/// Seconds of CPU time of all threads of this process.
[[nodiscard]] double process_cpu_seconds();
/// Seconds of a monotonic clock.
[[nodiscard]] double wall_seconds();

}  // namespace mxkv::bench
