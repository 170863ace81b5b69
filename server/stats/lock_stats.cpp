#include "server/stats/lock_stats.hpp"

namespace mxkv::server {

void add_lock_stats(StatText& text, Store& store) {
  const RangeLocks& locks = store.locks();
  const runtime::ToggleStats toggle = locks.toggle.stats();
  text.add("slots", locks.toggle.slots());
  text.add("slot_maps", store.total(counter::slot_maps));
  text.add("operations", toggle.operations);
  text.add("operations_of_many_slots", toggle.of_many);
  text.add("writes_held_off", locks.gate.parked());
}

}  // namespace mxkv::server
