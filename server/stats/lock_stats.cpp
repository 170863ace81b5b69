#include "server/stats/lock_stats.hpp"

namespace mxkv::server {

void add_lock_stats(StatText& text, Store& store) {
  const RangeLocks& locks = store.locks();
  const runtime::ToggleStats toggle = locks.toggle.stats();
  const auto yes = [](bool is) { return is ? "yes" : "no"; };
  text.add("order", locks.toggle.order() == runtime::interval_order::queue ? "queue" : "toggle");
  text.add("inner", yes(locks.toggle.has_inner_mode()));
  text.add("stealing", yes(locks.toggle.has_stealing()));
  text.add("buckets", locks.toggle.buckets());
  text.add("slots", locks.toggle.slots());
  text.add("slot_maps", store.total(counter::slot_maps));
  text.add("operations", toggle.operations);
  text.add("operations_of_many_buckets", toggle.of_many);
  text.add("operations_in_inner_mode", toggle.inner);
  text.add("operations_shared", toggle.shared);
  text.add("operations_followed", toggle.followed);
  text.add("operations_away_from_home", store.total(counter::held_away));
  text.add("inner_phases", toggle.phases);
  text.add("slots_stolen", toggle.stolen);
  text.add("writes_held_off", locks.gate.parked());
}

}  // namespace mxkv::server
