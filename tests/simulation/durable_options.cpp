#include "tests/simulation/durable_options.hpp"

namespace mxkv::simulation {

DurableOptions draw_durable_world(runtime::Random& random) {
  DurableOptions options;
  options.store = draw_store_world(random);
  StoreWorldOptions& store = options.store;
  // The other simulation tests memory that runs short.
  store.world.short_of_memory = false;
  store.world.ends_early = false;
  store.requests.quiet = false;  // an error of the journal has no opaque
  if (store.requests.others > 60) {
    store.requests.others = 60;
  }
  store.store.evict = false;
  store.burst_in_flight = std::min<std::size_t>(store.burst_in_flight, 8);
  if (one_in(random, 4)) {
    options.mode.sync = one_in(random, 2) ? config::sync_mode::interval : config::sync_mode::never;
    options.mode.interval_ns = 1'000'000 * (1 + random.below(1000));
  } else {
    options.mode.readers_wait = !one_in(random, 6);
  }
  options.exact = options.mode.sync == config::sync_mode::commit && options.mode.readers_wait;
  const RequestOptions& requests = store.requests;
  // In sync never a power cut may take all groups, with their ceilings.
  options.clock_back = options.mode.sync != config::sync_mode::never && !requests.expiry &&
                       !requests.runs_expire && one_in(random, 2);
  options.segment_bytes = std::uint64_t{4096} * (3 + random.below(14));
  options.checkpoint_in = 2 + random.below(one_in(random, 3) ? 4 : 60);
  options.parts = 1 + static_cast<std::uint32_t>(random.below(4));
  options.history_bytes = one_in(random, 3) ? 0 : options.segment_bytes * (1 + random.below(40));
  options.generations = 2 + static_cast<unsigned>(random.below(3));
  return options;
}

std::string describe(const DurableOptions& options) {
  std::string text = describe(options.store);
  text += ", sync " + std::to_string(static_cast<int>(options.mode.sync));
  text += options.mode.readers_wait ? "" : ", reads do not wait";
  text += options.clock_back ? ", the clock goes back" : "";
  text += ", segments of " + std::to_string(options.segment_bytes) + " bytes, checkpoints in " +
          std::to_string(options.parts) + " parts";
  return text;
}

void DurableReport::add(const DurableReport& other) {
  complaints.insert(complaints.end(), other.complaints.begin(), other.complaints.end());
  fingerprint = fingerprint * 1'000'003 + other.fingerprint;
  for (const auto member : {&DurableReport::starts,
                            &DurableReport::operations,
                            &DurableReport::given_up,
                            &DurableReport::released,
                            &DurableReport::lost_changes,
                            &DurableReport::groups,
                            &DurableReport::cuts,
                            &DurableReport::kills,
                            &DurableReport::clean_ends,
                            &DurableReport::cut_starts,
                            &DurableReport::cut_checkpoints,
                            &DurableReport::cut_renames,
                            &DurableReport::full_starts,
                            &DurableReport::full_refusals,
                            &DurableReport::lost_newest,
                            &DurableReport::torn,
                            &DurableReport::gaps,
                            &DurableReport::failures,
                            &DurableReport::rebased,
                            &DurableReport::no_space,
                            &DurableReport::refusals,
                            &DurableReport::checkpoints,
                            &DurableReport::failed_checkpoints,
                            &DurableReport::from_checkpoint,
                            &DurableReport::amid,
                            &DurableReport::recycled,
                            &DurableReport::removed,
                            &DurableReport::told,
                            &DurableReport::told_later,
                            &DurableReport::told_batches,
                            &DurableReport::resumed,
                            &DurableReport::old,
                            &DurableReport::lost}) {
    this->*member += other.*member;
  }
  watches.add(other.watches);
}

}  // namespace mxkv::simulation
