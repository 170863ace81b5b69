// The page's history of the last minutes. It reads the counters once a second and keeps the differences. So a
// page shows the past as soon as it is opened, and any number of viewers costs the same.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "server/admin/serving_parts.hpp"
#include "server/net/observe/latency_histogram.hpp"

namespace mxkv::server {

/// Commands as the page groups them: the classic and the meta form of a command count together.
enum class command_group : std::uint8_t { get, set, remove, arithmetic, touch, range, batch };
inline constexpr std::size_t kCommandGroups = static_cast<std::size_t>(command_group::batch) + 1;
[[nodiscard]] std::string_view name_of(command_group group) noexcept;

/// The requests that worker `i` got; see metrics_runtime.cpp.
[[nodiscard]] std::uint64_t requests_of(const ServingParts& parts, std::size_t worker);

/// Idle times of workers, made so that they never decrease. Thread-safety: one thread.
class WorkerIdle {
 public:
  [[nodiscard]] std::uint64_t ns(const ServingParts& parts, std::size_t worker);

 private:
  std::vector<std::uint64_t> greatest_;
};

/// Thread-safety: one thread.
class Recorder {
 public:
  static constexpr std::size_t kKept = 180;            ///< seconds
  static constexpr std::size_t kPercentileLooks = 10;  ///< looks that the percentiles cover

  struct Percentiles {
    std::uint64_t samples = 0;
    std::uint64_t p50_ns = 0;
    std::uint64_t p99_ns = 0;
  };
  /// One second; counts are per second.
  struct Second {
    double unix_s = 0;
    std::array<double, kCommandGroups> commands{};
    double hits = 0;
    double misses = 0;
    double received_bytes = 0;
    double sent_bytes = 0;
    double evicted = 0;
    double expired = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t items = 0;
    std::uint64_t connections = 0;
    Percentiles all;  ///< over the last kPercentileLooks looks
  };
  struct WorkerLoad {
    double requests = 0;  ///< per second
    double busy = 0;      ///< share of the time
  };

  void look(const ServingParts& parts);
  /// Starts anew, after a time without looks.
  void forget() noexcept;
  [[nodiscard]] const std::deque<Second>& seconds() const noexcept { return seconds_; }
  /// Over the last kPercentileLooks looks.
  [[nodiscard]] const std::array<Percentiles, kCommandGroups>& percentiles() const noexcept {
    return percentiles_;
  }
  [[nodiscard]] const std::vector<WorkerLoad>& workers() const noexcept { return workers_; }
  [[nodiscard]] WorkerIdle& idle() noexcept { return idle_; }

 private:
  using Histograms = std::array<LatencyHistogram::Counts, kCommandGroups>;
  /// The counters at one look.
  struct Look {
    std::uint64_t at_ns = 0;
    std::array<std::uint64_t, kCommandGroups> commands{};
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t evicted = 0;
    std::uint64_t expired = 0;
    std::vector<std::uint64_t> requests;  ///< by worker
    std::vector<std::uint64_t> idle_ns;
  };

  [[nodiscard]] Look look_now(const ServingParts& parts);
  [[nodiscard]] Percentiles find_percentiles(const ServingParts& parts);
  void find_loads(const Look& now, double passed_s);

  Look last_;
  std::deque<Second> seconds_;
  std::deque<Histograms> histograms_;
  std::array<Percentiles, kCommandGroups> percentiles_{};
  std::vector<WorkerLoad> workers_;
  WorkerIdle idle_;
};

}  // namespace mxkv::server
