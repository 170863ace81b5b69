// Events in a simulated store besides its clients' requests, now and then and on the worker that just polls:
// the map of keys to slots is drawn anew, items move or are evicted, a write is preempted; and mistakes that
// a test makes on purpose.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "tests/simulation/preempted_write.hpp"
#include "tests/simulation/store_client.hpp"
#include "tests/simulation/store_world.hpp"
#include "tests/simulation/store_world_options.hpp"

namespace mxkv::simulation {

/// Outlives the runtime. Thread-safety: one thread.
class StoreWhims final : public WriteWitness {
 public:
  StoreWhims(runtime::Random& random, const StoreWorldOptions& options, const StoreKeys& keys,
             store_fault what)
      : random_(random),
        options_(options),
        keys_(keys),
        requests_(random, options.requests, keys),
        fault_(what) {}
  /// Before anything else.
  void set_world(server::Store& store, Stepper& stepper, StoreRecord& record) noexcept {
    store_ = &store;
    stepper_ = &stepper;
    record_ = &record;
  }

  [[nodiscard]] StoreRequests& requests() noexcept { return requests_; }
  /// A client's next request.
  [[nodiscard]] StoreRequest next_request(std::uint64_t now_us);
  void have_whim(runtime::Worker& worker);

  /// From now on the end of a preempted write is known once it is on disk.
  void set_disk(const server::CommitGate& disk) noexcept { disk_ = &disk; }
  /// Writes that are on disk are recorded as done; at the end, `all`, the others as unknown.
  void look_at_disk(bool all);

  /// Whether all preempted writes have ended.
  [[nodiscard]] bool finished() const noexcept { return open_writes_ == 0 && held_.empty(); }
  [[nodiscard]] std::uint64_t maps() const noexcept { return maps_; }
  [[nodiscard]] std::uint64_t preempted() const noexcept { return preempted_; }

  // --- For PreemptedWrite ---
  void writing() override;
  void ended(std::size_t write, std::uint64_t cas) override;

 private:
  static constexpr std::size_t kMostPreempted = 3;  ///< at a time: one worker may have to do them all

  /// An entry of some leaf; 0: none was found.
  [[nodiscard]] server::ItemNode* some_leaf();
  [[nodiscard]] std::uint64_t some_item();
  void evict_some(server::ItemNode& leaf, runtime::Worker& worker);
  void start_preempted_write(runtime::Worker& worker);
  void keep_slot(runtime::Worker& worker);

  runtime::Random& random_;
  const StoreWorldOptions& options_;
  const StoreKeys& keys_;
  StoreRequests requests_;
  store_fault fault_;
  server::Store* store_ = nullptr;
  Stepper* stepper_ = nullptr;
  StoreRecord* record_ = nullptr;
  std::atomic<bool> drawing_{false};
  std::deque<Operation> writes_;  ///< that may be preempted
  std::size_t open_writes_ = 0;
  const server::CommitGate* disk_ = nullptr;
  struct HeldWrite {
    std::uint64_t epoch;
    Operation op;
  };
  std::deque<HeldWrite> held_;      ///< in the tree, and not on disk
  std::size_t whims_left_ = 1'000;  ///< a worker that is slow may have to do them all
  bool kept_ = false;               ///< a slot was kept, once
  std::uint64_t maps_ = 0;
  std::uint64_t preempted_ = 0;
};

}  // namespace mxkv::simulation
