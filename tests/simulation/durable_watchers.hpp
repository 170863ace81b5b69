// Watches of ranges that outlive the processes of a durable store, as clients do: at the next process they go on from
// the last position that they heard. Each process has the real herald over its journal, without the thread.
//
// A judge for each watch compares its lines with the changes that passed the commit point (feed_judge.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "runtime/base/clock.hpp"
#include "runtime/base/random.hpp"
#include "server/durability/manifest_file.hpp"
#include "server/feed/herald.hpp"
#include "server/feed/journal_log.hpp"
#include "server/journal/journal.hpp"
#include "tests/simulation/complaints.hpp"
#include "tests/simulation/durable_options.hpp"
#include "tests/simulation/feed_ledger.hpp"
#include "tests/simulation/feed_watcher.hpp"

namespace mxkv::simulation {

/// Thread-safety: one thread.
class DurableWatchers {
 public:
  /// `seed`: of their whims. The arguments outlive it.
  DurableWatchers(std::uint64_t seed, durable_mistake mistake, const StoreKeys& keys, Complaints& complaints,
                  FeedReport& report);
  ~DurableWatchers() { end(); }
  DurableWatchers(const DurableWatchers&) = delete;
  DurableWatchers& operator=(const DurableWatchers&) = delete;

  /// A start found all epochs up to this one.
  void found(std::uint64_t epoch);
  /// A process begins to serve. Its changes pass the returned listener, and go on to `journal_feed`.
  [[nodiscard]] FeedLedger& begin(server::Disk& disk, const server::ManifestFile& manifest,
                                  server::Journal& journal, const runtime::Clock& clock, std::size_t workers,
                                  index::CommitListener<std::string_view>& journal_feed);
  /// The journal's writer has changed something.
  void journal_changed();
  /// Some of the herald's and the watches' steps, or none.
  void step();
  /// All changes are durable: each watch hears what it waits for.
  void hear_all();
  /// The process ends.
  void end();
  /// Adds what the watches heard in all to the report. Once, at the end of the world.
  void count() const;

 private:
  struct Process {
    Process(server::Disk& disk, const server::ManifestFile& manifest, server::Journal& journal,
            const runtime::Clock& clock, const server::HeraldOptions& options, durable_mistake mistake);
    const runtime::Clock& clock;
    bool woken = false;
    std::uint64_t next_ns = 0;
    server::JournalLog log;
    std::unique_ptr<server::ChangeSource> live;
    server::JournalTail past;
    server::Herald herald;
  };

  void step_herald();
  void take_news();

  runtime::Random random_;
  durable_mistake mistake_;
  Complaints& complaints_;
  FeedReport& report_;
  FeedLedger ledger_;
  std::deque<FeedWatcher> watchers_;
  std::unique_ptr<Process> process_;  ///< null: none serves
};

}  // namespace mxkv::simulation
