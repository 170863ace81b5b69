// The engine of a simulated cluster: one log, kept until it is trimmed, that is reached over a bad network.
//
// Stored records are never lost otherwise: that is the engine's promise. All else goes wrong: requests and
// answers are lost, come late or twice, nodes stand still or are cut off in one direction, and strangers
// write to the log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/cluster/ordered_log.hpp"

namespace mxkv::simulation {

inline constexpr std::uint64_t kMs = 1'000'000;
inline constexpr std::uint64_t kSecond = 1000 * kMs;

/// Real time, and the next events in it. Thread-safety: one thread.
class Timeline {
 public:
  using Action = std::function<void()>;

  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }
  void in(std::uint64_t delay_ns, Action action) {
    actions_.emplace(std::pair{now_ns_ + delay_ns, ++number_}, std::move(action));
  }
  /// False: no event is left.
  bool step();

 private:
  std::uint64_t now_ns_ = kSecond;
  std::uint64_t number_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Action> actions_;
};

/// Numbers of one seed. Thread-safety: one thread.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// From 0 on, below `end`.
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  bool permille(std::uint64_t chance) { return below(1000) < chance; }

 private:
  std::mt19937_64 engine_;
};

/// How often each fault occurs, in a thousand appends.
struct EngineFaults {
  std::uint64_t request_lost = 0;
  std::uint64_t answer_lost = 0;
  std::uint64_t late = 0;  ///< stored behind its time-out
  std::uint64_t twice = 0;
  std::uint64_t refused = 0;
};

/// Thread-safety: one thread.
class ClusterEngine {
 public:
  struct Stored {
    std::string bytes;
    std::uint64_t at_ns = 0;
  };

  explicit ClusterEngine(Timeline& timeline) : timeline_(timeline) {}

  server::LogPosition store(std::string bytes);
  /// The whole log, with records that readers do not get any more.
  [[nodiscard]] const std::vector<Stored>& log() const noexcept { return log_; }
  [[nodiscard]] server::LogPosition begin() const noexcept { return begin_; }
  void trim(server::LogPosition before) noexcept { begin_ = std::max(begin_, before); }

  bool down = false;  ///< answers no node
  EngineFaults faults;

 private:
  Timeline& timeline_;
  std::vector<Stored> log_;
  server::LogPosition begin_ = 0;
};

/// The parts that a node can reach, and whether it runs.
struct NodeLink {
  bool requests_cut = false;
  bool answers_cut = false;
  bool reads_cut = false;
};

/// A process' door to the engine. Outlives the process: requests under way still arrive. Thread-safety: one
/// thread.
class ClusterLog final : public server::OrderedLog {
 public:
  /// `run`: runs an action on the process, when it runs.
  using Runner = std::function<void(Timeline::Action)>;

  ClusterLog(Timeline& timeline, Dice& dice, ClusterEngine& engine, const NodeLink& link, Runner run)
      : timeline_(timeline), dice_(dice), engine_(engine), link_(link), run_(std::move(run)) {}

  void append(std::string bytes, AppendDone done) override;
  void read(server::LogPosition from, server::LogSink& sink) override;
  void stop() override;
  void end(EndDone done) override;
  void trim(server::LogPosition before) override;

 private:
  static constexpr std::uint64_t kTimeoutNs = 1500 * kMs;

  void poll(std::uint64_t reading, std::uint64_t delay_ns);
  void deliver(std::uint64_t reading);
  std::uint64_t delay();

  Timeline& timeline_;
  Dice& dice_;
  ClusterEngine& engine_;
  const NodeLink& link_;
  Runner run_;
  std::uint64_t in_order_ns_ = 0;  ///< when the last append of the usual way arrives
  server::LogSink* sink_ = nullptr;
  server::LogPosition next_ = 0;
  std::uint64_t reading_ = 0;  ///< counts reads and stops: earlier readings deliver nothing
};

}  // namespace mxkv::simulation
