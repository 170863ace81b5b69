// The table behind select_primitive(), and the primitives' names.
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
  // validation. Writers of a hot object contend more on its latch than on a pool; of any other, less.
  return ratio == rw_ratio::read_heavy || frequency == access_frequency::high
             ? primitive::optimistic_scheduling
             : primitive::optimistic_latch;
}

std::string_view primitive_name(primitive how) noexcept {
  switch (how) {
    case primitive::none:
      return "none";
    case primitive::serialized_by_scheduling:
      return "serialized_by_scheduling";
    case primitive::optimistic_latch:
      return "optimistic_latch";
    case primitive::optimistic_scheduling:
      return "optimistic_scheduling";
    case primitive::spin_latch:
      return "spin_latch";
    case primitive::reader_writer_latch:
      return "reader_writer_latch";
  }
  return "unknown";
}

}  // namespace mxkv::runtime
