// A reader of the journal's changes that outlives the processes which it reads from, as a client does.
//
// It keeps a position, reads some epochs at some times, and continues behind its position at the next process. It
// complains when it hears of anything but the changes that passed the commit point: an epoch that is left out or told
// twice, a batch in parts, a key's changes out of order, a position of a lost history that is taken. It complains, too,
// when a durable epoch is not told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"
#include "server/feed/journal_tail.hpp"
#include "tests/simulation/complaints.hpp"
#include "tests/simulation/durable_ledger.hpp"
#include "tests/simulation/durable_options.hpp"

namespace mxkv::simulation {

/// Thread-safety: one thread.
class DurableReader {
 public:
  /// `seed`: of its own whims. The world's events do not depend on it.
  DurableReader(std::uint64_t seed, durable_mistake mistake, Complaints& complaints, DurableReport& report)
      : random_(seed), mistake_(mistake), complaints_(complaints), report_(report) {}

  /// A start found all epochs up to this one.
  void found(std::uint64_t epoch);
  /// A process begins to serve. `closed` is the last epoch that it numbered.
  void begin() noexcept { follows_ = false; }
  /// Reads some epochs, or none. `closed`: the last epoch that was closed.
  void step(server::JournalTail& tail, std::uint64_t closed, const DurableLedger& ledger);
  /// The process has ended.
  void end(const DurableLedger& ledger);

 private:
  void restart(server::JournalTail& tail, std::uint64_t closed);
  void resume(server::JournalTail& tail, std::uint64_t closed);
  void gone(server::JournalTail& tail, std::uint64_t closed);
  void judge(const server::ChangeEpoch& epoch, std::uint64_t tag, const DurableLedger& ledger);
  void judge_order(const std::vector<ToldChange>& told);
  /// The first epoch with changes behind the position; 0: there is none.
  [[nodiscard]] std::uint64_t next_epoch(const DurableLedger& ledger) const;

  runtime::Random random_;
  durable_mistake mistake_;
  Complaints& complaints_;
  DurableReport& report_;
  ChangesByEpoch earlier_;  ///< of earlier processes, as far as the last start found them
  server::Position at_{};   ///< it has read all epochs up to there; tag 0: none
  bool is_past_ = true;     ///< each start since found all epochs up to there
  bool follows_ = false;    ///< this process has taken the position
};

}  // namespace mxkv::simulation
