// The counts of a WriteOperation that is done.
#include "server/store/point/write_operation.hpp"

namespace mxkv::server {

using protocol::point_action;
using protocol::value_effect;

// incr and decr have counters of their own. All other actions count by their effect: as a get, set or delete.
void WriteOperation::count(runtime::Worker& worker, bool found) {
  auto& counters = worker.local<WorkerContext>().counters;
  switch (protocol::effect_of(request_.terms.action)) {
    case value_effect::removes:
      counters.count(decision_.result == point_result::deleted ? counter::delete_hits
                                                               : counter::delete_misses);
      return;
    case value_effect::stores:
      if (request_.terms.action == point_action::count) {
        counters.count(request_.terms.down ? (found ? counter::decr_hits : counter::decr_misses)
                                           : (found ? counter::incr_hits : counter::incr_misses));
      } else {
        count_store(worker, found);
      }
      return;
    case value_effect::none:
      count_read(worker, found);
  }
}

// gat counts as a get and as a touch; mg with T as a touch alone.
void WriteOperation::count_read(runtime::Worker& worker, bool found) const {
  auto& counters = worker.local<WorkerContext>().counters;
  if (request_.terms.touches) {
    counters.count(counter::cmd_touch);
    counters.count(found ? counter::touch_hits : counter::touch_misses);
  }
  if (!request_.terms.touches || protocol::is_retrieval(request_.op)) {
    counters.count(found ? counter::get_hits : counter::get_misses);
  }
}

void WriteOperation::count_store(runtime::Worker& worker, bool found) const {
  auto& context = worker.local<WorkerContext>();
  StoreCounters& counters = context.counters;
  if (request_.terms.compares) {
    counters.count(!found                                     ? counter::cas_misses
                   : decision_.result == point_result::exists ? counter::cas_badval
                                                              : counter::cas_hits);
  }
  counters.count(counter::cmd_set);
  if (lacks_memory()) {
    context.count_no_memory();
  }
}

}  // namespace mxkv::server
