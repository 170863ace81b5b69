#include "server/store/upkeep/upkeep.hpp"

#include "server/store/core/store_state.hpp"

namespace mxkv::server {

Upkeep::Upkeep(StoreState& store, std::size_t workers, const UpkeepOptions& options)
    : store_(store), defragments_(options.defragments), evicts_(options.evicts) {
  for (std::size_t i = 0; i < workers; ++i) {
    workers_.emplace_back(eviction_);
    WorkerContext& context = store.context(runtime::WorkerId{static_cast<std::uint16_t>(i)});
    context.upkeep = this;
    context.sweep = &sweep_;
  }
}

}  // namespace mxkv::server
