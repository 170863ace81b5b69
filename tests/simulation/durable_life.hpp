// One process of a simulated store with a journal: it recovers the contents of a disk, serves clients whose
// replies wait for the disk, makes checkpoints, and ends anywhere.
//
// All parts are the real ones, without their threads: the journal's writer and the checkpointer are stepped between
// steps of the workers, also while a worker is preempted under a latch.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "server/durability/checkpoint_keeper.hpp"
#include "server/durability/checkpointer.hpp"
#include "server/durability/data_directory.hpp"
#include "server/durability/recovery.hpp"
#include "server/durability/store_journal.hpp"
#include "tests/simulation/durable_ledger.hpp"
#include "tests/simulation/durable_options.hpp"
#include "tests/simulation/durable_reader.hpp"
#include "tests/simulation/durable_watchers.hpp"
#include "tests/simulation/interference.hpp"
#include "tests/simulation/sim_disk.hpp"
#include "tests/simulation/store_progress.hpp"
#include "tests/simulation/worker_clients.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::simulation {

/// Thread-safety: one thread.
class DurableLife {
 public:
  /// The arguments outlive it; `now_us` is the time at which it begins.
  DurableLife(test::SimDisk& disk, runtime::Random& random, const DurableOptions& options, StoreKeys& keys,
              std::uint64_t now_us, Complaints& complaints, DurableReport& report);
  DurableLife(const DurableLife&) = delete;
  DurableLife& operator=(const DurableLife&) = delete;
  ~DurableLife();

  // Each may fail, by the disk: then it says why, and the life is over.

  [[nodiscard]] std::string recover();
  [[nodiscard]] std::string begin_journal();

  /// Serves, beginning with `state`. `fills`: the keys are stored first, and are on disk when this returns.
  void begin_service(const DurableState& state, bool fills, DurableReader& reader, DurableWatchers& watchers);
  /// Until the disk is off, clients have nothing more to ask for, or for so many rounds.
  void run(std::uint64_t most_rounds);
  /// Ends in order: all is on disk, and the directory says so. Empty, or why it could not.
  [[nodiscard]] std::string end_in_order();
  /// All clients go away: their unanswered requests stay open.
  void end();

  [[nodiscard]] const server::Recovered& recovered() const noexcept { return recovered_; }
  /// The epoch at which the checkpoint that was found had begun; 0: there was none.
  [[nodiscard]] std::uint64_t checkpoint() const noexcept {
    return directory_.manifest.checkpoint ? directory_.manifest.checkpoint->begun : 0;
  }
  [[nodiscard]] DurableItems items() { return items_of(store_, now_us()); }
  [[nodiscard]] std::uint64_t now_us() const { return machine_.clock.steady_us(); }
  [[nodiscard]] std::uint64_t wall_us() const { return machine_.clock.unix_us(); }
  /// Least epoch that the next start has to reach, as promised to clients; `power`: the power was cut.
  [[nodiscard]] std::uint64_t promised(bool power) const;
  [[nodiscard]] std::unique_ptr<DurableLedger> take_ledger();
  [[nodiscard]] std::unique_ptr<StoreHistory> take_history() { return std::move(history_); }
  [[nodiscard]] bool checkpoint_goes_on() const;

 private:
  class Nobody final : public runtime::Poller {
   public:
    bool poll(runtime::Worker& /*worker*/) override { return false; }
    bool end_turn(runtime::Worker& /*worker*/) override { return false; }
    void block(runtime::Worker& /*worker*/, std::uint64_t /*timeout_ns*/) override {}
    void wake() noexcept override {}
  };

  [[nodiscard]] std::size_t workers() const noexcept { return options_.store.world.runtime.workers.size(); }
  [[nodiscard]] static runtime::WorkerId id(std::size_t worker) noexcept {
    return runtime::WorkerId{static_cast<std::uint16_t>(worker)};
  }
  void make_journal();
  void fill();
  [[nodiscard]] bool finished() const;
  /// The work of other threads.
  void aside();
  void step_checkpointer();
  void step_readers();
  void interfere();
  void note_journal();

  test::SimDisk& disk_;
  runtime::Random& random_;
  const DurableOptions& options_;
  StoreKeys& keys_;
  Complaints& complaints_;
  DurableReport& report_;
  Bells bells_;
  Nobody nobody_;
  StoreWhims whims_;
  runtime::testing::Machine machine_;
  server::Store store_;
  server::DataDirectory directory_;
  server::Recovered recovered_;
  std::unique_ptr<DurableLedger> ledger_;
  std::unique_ptr<server::ManifestFile> manifest_;
  std::unique_ptr<server::Journal> journal_;
  std::unique_ptr<server::StoreJournal> feed_;
  std::unique_ptr<server::CheckpointKeeper> keeper_;
  std::unique_ptr<server::Checkpointer> checkpointer_;
  std::unique_ptr<server::JournalTail> tail_;
  DurableReader* reader_ = nullptr;
  DurableWatchers* watchers_ = nullptr;
  StoreReplies replies_;
  std::unique_ptr<StoreHistory> history_;
  std::unique_ptr<Stepper> stepper_;
  std::unique_ptr<StoreRecord> record_;
  std::unique_ptr<Interference<server::ItemTraits>> interference_;
  std::unique_ptr<StoreProgress> progress_;
  std::deque<WorkerDisk> disks_;
  std::deque<WorkerClients> pollers_;
  std::uint64_t released_ = 0;
  std::uint64_t in_order_ = 0;  ///< epoch up to which all is there, after such an end
  bool was_broken_ = false;
  bool was_refusing_ = false;
};

}  // namespace mxkv::simulation
