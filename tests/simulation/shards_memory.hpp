// Memory of a simulated node: a map in the place of the store. Logs are applied to it late, but in order, as
// ShardMemory does. Clients' changes come in between.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "runtime/base/ids.hpp"
#include "server/cluster/applied_memory.hpp"
#include "server/cluster/routes.hpp"
#include "server/cluster/shard_snapshot.hpp"
#include "tests/simulation/cluster_engine.hpp"

namespace mxkv::simulation {

/// An item, as its record has it.
struct ShardsItem {
  std::string value;
  std::uint64_t order = 0;

  friend bool operator==(const ShardsItem&, const ShardsItem&) = default;
};
using ShardsItems = std::map<std::string, ShardsItem, std::less<>>;

/// The greatest orders of a body's records.
struct BodyOrders {
  std::uint64_t all = 0;
  std::uint64_t gone = 0;
};
/// Puts the records of a body into `items`: the greatest order of a key counts.
BodyOrders apply_body(ShardsItems& items, std::string_view body);

/// Thread-safety: one thread.
class ShardsMemory final : public server::AppliedMemory {
 public:
  /// `soon`: runs an action a little later, one behind the other; `moved`: called when finished() has
  /// changed.
  ShardsMemory(std::function<void(Timeline::Action)> soon, std::function<void()> moved)
      : soon_(std::move(soon)), moved_(std::move(moved)) {}

  void apply(std::uint32_t shard, std::string_view records) override;
  void drop(std::uint32_t shard, std::string_view from, std::string_view to) override;
  void give_way(std::uint32_t /*shard*/, bool /*gives_way*/) override {}
  [[nodiscard]] std::uint64_t begun(std::uint32_t /*shard*/) const noexcept override { return begun_; }
  [[nodiscard]] std::uint64_t finished(std::uint32_t /*shard*/) const noexcept override { return finished_; }
  [[nodiscard]] bool failed(std::uint32_t shard) const noexcept override { return failed_.contains(shard); }
  [[nodiscard]] std::string failure(std::uint32_t shard) const override {
    return failed(shard) ? "out of memory" : "";
  }
  [[nodiscard]] bool any_failed() const noexcept { return !failed_.empty(); }
  /// While memory is short, no log is applied.
  void set_short(bool is_short) noexcept { short_ = is_short; }

  // Clients' operations.

  [[nodiscard]] const ShardsItems& items() const noexcept { return items_; }
  /// An order above all seen orders of the shard, and above `mint_us`.
  [[nodiscard]] std::uint64_t mint(std::uint64_t mint_us) noexcept;
  void put(std::string_view key, const ShardsItem& item) { items_.insert_or_assign(std::string{key}, item); }
  void remove(std::uint32_t shard, std::string_view key, std::uint64_t order);
  /// The order that a read of the key depends on; of an absent key, the order of a possible removal.
  [[nodiscard]] std::uint64_t order_of_read(std::uint32_t shard, std::string_view key) const;

 private:
  void add(std::function<void(std::uint64_t call)> action);

  std::function<void(Timeline::Action)> soon_;
  std::function<void()> moved_;
  ShardsItems items_;
  std::map<std::uint32_t, std::uint64_t> floors_;  ///< by shard: orders of removed items
  std::uint64_t newest_ = 0;                       ///< order
  std::uint64_t begun_ = 0;
  std::uint64_t finished_ = 0;
  bool short_ = false;
  std::set<std::uint32_t> failed_;
  std::map<std::uint32_t, std::uint64_t> dropped_;  ///< by shard: earlier calls do not fail it
};

/// The items of [from, to), piece by piece, while they change.
class ShardsSource final : public server::SnapshotSource {
 public:
  ShardsSource(const ShardsMemory& memory, Dice& dice, std::string_view from, std::string_view to)
      : memory_(memory), dice_(dice), next_(from), to_(to) {}
  [[nodiscard]] state next(std::string& piece, std::uint64_t& items) override;

 private:
  const ShardsMemory& memory_;
  Dice& dice_;
  std::string next_;
  std::string to_;
};

}  // namespace mxkv::simulation
