// The records of a multi-read: the first is drawn as for a read, the others follow from it, spread evenly
// over the loaded records. So a request in flight needs no list of its keys.
#pragma once

#include <cstdint>

#include "bench/workload/operations.hpp"
#include "bench/workload/spec.hpp"
#include "runtime/base/random.hpp"

namespace mxkv::bench {

/// Thread-safety: any thread (it is a constant).
class MultiReadKeys {
 public:
  MultiReadKeys() = default;
  explicit MultiReadKeys(const WorkloadSpec& spec) noexcept
      : first_(spec.insert_start),
        existing_(spec.existing()),
        count_(spec.mix.multi_read_keys),
        ordered_(spec.ordered) {}

  /// Records a request.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  /// The number in the key of record `index` of the request.
  [[nodiscard]] std::uint64_t key_number(const Operation& operation, std::uint64_t index) const noexcept {
    constexpr std::uint64_t kStep = 0xD1B54A32D192ED03ULL;
    if (index == 0) {
      return operation.key_hash;
    }
    const std::uint64_t record =
        first_ + runtime::Random(operation.key_hash + index * kStep).below(existing_);
    return ordered_ ? record : fnv_hash64(record);
  }

 private:
  std::uint64_t first_ = 0;
  std::uint64_t existing_ = 1;
  std::uint32_t count_ = 1;
  bool ordered_ = false;
};

}  // namespace mxkv::bench
