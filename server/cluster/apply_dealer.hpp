// Deals the records of a group to stages and lanes, in the order in which they happened.
//
// A group is its workers' records one behind the other, so that those of a key may be in any order. By their orders
// (index/commit_point.hpp) all of them are in the one in which they happened: of a key, and of a range and its keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/cluster/apply_stage.hpp"
#include "server/journal/record.hpp"

namespace mxkv::server {

class Routes;

/// Of one group. Thread-safety: one thread.
class ApplyDealer {
 public:
  /// `routes`: what concerns a range is kept within the shard; or null.
  ApplyDealer(std::uint32_t shard, std::size_t lanes, const Routes* routes) noexcept
      : shard_(shard), lanes_(lanes), routes_(routes) {}

  /// Reads a copy of it. What is wrong with it, or null.
  [[nodiscard]] const char* deal(std::string_view records);
  [[nodiscard]] ApplyStages take() { return std::move(stages_); }
  /// Delayed flushes, which are left out.
  [[nodiscard]] std::uint64_t ignored() const noexcept { return ignored_; }

 private:
  struct Dealt {
    std::uint64_t order;
    const char* at;        ///< the entry
    std::uint32_t number;  ///< of the key's lane, or of the range
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
  bool only_puts_ = true;  ///< then the greatest order wins, however they are applied
  std::vector<Dealt> dealt_;
  std::vector<RangeOperation> ranges_;
  ApplyStages stages_;
  std::uint64_t ignored_ = 0;
};

}  // namespace mxkv::server
