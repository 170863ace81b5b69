// A process of a simulated cluster: a shard as production runs it, over a map in the place of the store.
//
// It changes its map first, and then appends the changes, as the real one does. So a read may see a change
// that does not count yet, and is held until it does; and an ousted owner's map may hold void changes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/clock.hpp"
#include "server/cluster/shard.hpp"
#include "tests/simulation/cluster_engine.hpp"

namespace mxkv::simulation {

inline constexpr server::MessageScope kClusterScope{.cluster = 0xC1, .shard = 7};

/// A client's request, and its answer.
struct ClusterRequest {
  enum class answer : std::uint8_t { none, value, refused, is_void };
  std::uint64_t id = 0;
  std::uint32_t key = 0;
  std::optional<std::uint64_t> written;  ///< a set; its answer has the number before
  std::uint64_t invoked_ns = 0;
  std::uint64_t answered_ns = 0;
  answer told = answer::none;
  std::optional<std::uint64_t> found;
};

/// A clock of another rate. Thread-safety: any thread.
class SkewedClock final : public runtime::Clock {
 public:
  SkewedClock(const Timeline& timeline, std::uint64_t rate_permille)
      : timeline_(timeline), rate_permille_(rate_permille) {}
  [[nodiscard]] std::uint64_t monotonic_ns() const noexcept override {
    return timeline_.now_ns() / 1000 * rate_permille_;
  }
  [[nodiscard]] std::uint64_t unix_us() const noexcept override { return monotonic_ns() / 1000; }
  using Clock::steady_us;
  [[nodiscard]] std::uint64_t steady_us(std::uint64_t monotonic_ns) const noexcept override {
    return monotonic_ns / 1000;
  }

 private:
  const Timeline& timeline_;
  std::uint64_t rate_permille_;
};

/// The state that outlives a process, as a checkpoint on its disk does.
struct ClusterSnapshot {
  server::ShardStart start;
  std::map<std::uint32_t, std::uint64_t> items;
  std::uint64_t epoch = 0;
};

/// Reads a group's records: id, key and number of each set.
struct ClusterRecord {
  std::uint64_t id = 0;
  std::uint32_t key = 0;
  std::uint64_t number = 0;
};
[[nodiscard]] std::string write_record(const ClusterRecord& record, std::size_t padding);
[[nodiscard]] ClusterRecord read_record(std::string_view text);

/// Thread-safety: one thread.
class ClusterProcess final : private server::ShardHost {
 public:
  struct Place {
    Timeline& timeline;
    Dice& dice;
    ClusterEngine& engine;
    const NodeLink& link;
    const SkewedClock& clock;
    ClusterSnapshot& disk;
  };

  ClusterProcess(const Place& place, server::ShardOptions options);

  void start();
  void kill();
  void stand_still();
  void go_on();
  /// Runs the action when the process runs; never once it was killed.
  void run(Timeline::Action action);

  /// `request` lives as long as the world.
  void ask(ClusterRequest& request);
  /// Leaves the shard to `to`, if it serves it.
  bool leave(std::uint64_t to);

  void set_lease(std::uint64_t lease_ns) { shard_.set_lease(lease_ns); }

  [[nodiscard]] bool lives() const noexcept { return alive_; }
  /// Whether the shard was stranded. This engine loses nothing, so it must never be.
  [[nodiscard]] bool is_stranded() const noexcept { return stranded_; }
  [[nodiscard]] bool runs() const noexcept { return alive_ && !still_; }
  [[nodiscard]] bool serves() const noexcept { return alive_ && shard_.serves(); }
  [[nodiscard]] std::uint64_t node() const noexcept { return options_.node; }
  [[nodiscard]] const server::Shard& shard() const noexcept { return shard_; }
  [[nodiscard]] const std::map<std::uint32_t, std::uint64_t>& items() const noexcept { return items_; }

 private:
  struct Held {
    ClusterRequest* request;
    std::uint64_t epoch;
  };

  void apply(std::uint64_t epoch, std::string_view records) override;
  void owns(std::uint64_t term) override;
  void acknowledged(std::uint64_t epoch) override;
  std::optional<server::ShardStart> ousted() override;
  void stranded() override { stranded_ = true; }

  void tick();
  void answer(ClusterRequest& request, ClusterRequest::answer told);

  Place place_;
  server::ShardOptions options_;
  bool alive_ = true;
  bool still_ = false;
  bool stranded_ = false;
  std::deque<Timeline::Action> waiting_;
  std::map<std::uint32_t, std::uint64_t> items_;
  std::uint64_t epoch_ = 0;  ///< of the last change in the map
  std::uint64_t acknowledged_ = 0;
  std::deque<Held> held_;
  ClusterLog log_;
  server::Shard shard_;
};

}  // namespace mxkv::simulation
