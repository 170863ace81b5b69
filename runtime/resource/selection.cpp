// The table behind select_primitive().
#include "runtime/resource/primitive.hpp"

namespace mxkv::runtime {

primitive select_primitive(isolation isolation_level, rw_ratio ratio, access_frequency frequency) noexcept {
  switch (isolation_level) {
    case isolation::none:
      return primitive::none;
    case isolation::exclusive:
      return primitive::serialized_by_scheduling;
    case isolation::shared:
      break;
  }
  // Writers that are rare can afford the trip to the object's pool, and spare the readers there the
  // validation. Frequent writes to an object that is not hot contend less on its latch than on a pool.
  if (ratio == rw_ratio::read_heavy) {
    return primitive::optimistic_scheduling;
  }
  if (ratio == rw_ratio::balanced && frequency == access_frequency::high) {
    return primitive::optimistic_scheduling;
  }
  return primitive::optimistic_latch;
}

}  // namespace mxkv::runtime
