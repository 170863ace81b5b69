// The memory that a shard's log is applied to, as the shard needs it: the interface between hosted_shard and
// shard_memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mxkv::server {

/// A shard's view of memory: the promises of ShardMemory. Shards do not wait for each other. Thread-safety: the
/// cluster's thread.
class AppliedMemory {
 public:
  virtual ~AppliedMemory() = default;
  /// A shard's calls are executed in order.
  virtual void apply(std::uint32_t shard, std::string_view records) = 0;
  virtual void drop(std::uint32_t shard, std::string_view from, std::string_view to) = 0;
  /// While it gives way, the shard fails before others if memory is short. A drop ends that.
  virtual void give_way(std::uint32_t shard, bool gives_way) = 0;
  /// The number of the shard's calls so far, and of those that have ended: all up to this one.
  [[nodiscard]] virtual std::uint64_t begun(std::uint32_t shard) const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t finished(std::uint32_t shard) const noexcept = 0;
  /// Memory lacks a record of the shard. It skips the shard's records until drop() is called for the shard.
  /// A call that fails, or is skipped, ends after this is true.
  [[nodiscard]] virtual bool failed(std::uint32_t shard) const noexcept = 0;
  /// Why, in words; empty: it has not failed.
  [[nodiscard]] virtual std::string failure(std::uint32_t shard) const = 0;
};

}  // namespace mxkv::server
