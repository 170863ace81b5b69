// The memory that a shard's log is applied to, as the shard needs it: the interface between hosted_shard and
// shard_memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace mxkv::server {

/// A shard's view of memory: the promises of ShardMemory. Thread-safety: the cluster's thread.
class AppliedMemory {
 public:
  virtual ~AppliedMemory() = default;
  /// Calls are executed in order.
  virtual void apply(std::uint32_t shard, std::string_view records) = 0;
  virtual void drop(std::uint32_t shard, std::string_view from, std::string_view to) = 0;
  /// The number of calls so far, and of calls that are complete.
  [[nodiscard]] virtual std::uint64_t begun() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t finished() const noexcept = 0;
  /// Memory has failed: it executes no further call.
  [[nodiscard]] virtual bool failed() const noexcept = 0;
};

}  // namespace mxkv::server
