// Deals the records of a group to stages and lanes, in the order in which the changes happened.
//
// A group holds the workers' records one worker after the other, so the records of one key may stand in any order.
// The records' orders (index/commit_point.hpp) restore the order of the changes: for each key, and
// between a range and its keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/cluster/apply_stage.hpp"
#include "server/commit/record.hpp"

namespace mxkv::server {

class Routes;

/// Deals one group. Thread-safety: one thread.
class ApplyDealer {
 public:
  /// `routes`: limits range operations to the shard; may be null.
  ApplyDealer(std::uint32_t shard, std::size_t lanes, const Routes* routes) noexcept
      : shard_(shard), lanes_(lanes), routes_(routes) {}

  /// Reads a copy of `records`. Returns the mistake that it finds, or null.
  [[nodiscard]] const char* deal(std::string_view records);
  [[nodiscard]] ApplyStages take() { return std::move(stages_); }
  /// Delayed flushes, which are skipped.
  [[nodiscard]] std::uint64_t ignored() const noexcept { return ignored_; }

 private:
  struct Dealt {
    std::uint64_t order;
    const char* at;        ///< the entry
    std::uint32_t number;  ///< of the key's lane, or of the range in ranges_
    bool is_range;
  };
  struct Visitor;

  [[nodiscard]] bool deal_key(std::uint64_t order, std::string_view key, const char* at);
  [[nodiscard]] bool deal_range(RangeOperation what, const char* at);
  void add(const Dealt& dealt);
  ApplyStage& new_stage();

  const std::uint32_t shard_;
  const std::size_t lanes_;
  const Routes* const routes_;
  std::shared_ptr<const std::string> bytes_;
  bool only_puts_ = true;  ///< true: the greatest order wins, so the puts may be applied in any order
  std::vector<Dealt> dealt_;
  std::vector<RangeOperation> ranges_;
  ApplyStages stages_;
  std::uint64_t ignored_ = 0;
};

}  // namespace mxkv::server
