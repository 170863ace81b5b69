// What a node's shards ask of the memory that their logs are put into: the seam between hosted_shard and shard_memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace mxkv::server {

/// Memory as a shard sees it: what ShardMemory promises. Thread-safety: the cluster's thread.
class AppliedMemory {
 public:
  virtual ~AppliedMemory() = default;
  /// Calls are done in order.
  virtual void apply(std::uint32_t shard, std::string_view records) = 0;
  virtual void drop(std::uint32_t shard, std::string_view from, std::string_view to) = 0;
  /// Calls that were made, and those that are done.
  [[nodiscard]] virtual std::uint64_t begun() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t finished() const noexcept = 0;
  /// Nothing is done any more.
  [[nodiscard]] virtual bool failed() const noexcept = 0;
};

}  // namespace mxkv::server
