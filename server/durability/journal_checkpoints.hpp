// Gives checkpoints their view of the journal.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "server/durability/checkpointer.hpp"
#include "server/journal/journal.hpp"

namespace mxkv::server {

/// Thread-safety: as CheckpointJournal.
class JournalCheckpoints : public CheckpointJournal {
 public:
  /// `ceiling` returns an order that no minted order exceeds. Any thread.
  JournalCheckpoints(Journal& journal, std::function<std::uint64_t()> ceiling)
      : journal_(journal), ceiling_(std::move(ceiling)) {}

  std::uint64_t end_epoch() override { return journal_.end_epoch(); }
  std::uint64_t passed() override { return journal_.writer().passed(); }
  std::uint64_t last_recorded() override { return journal_.epochs().last_recorded(); }
  void need_on_disk(std::uint64_t epoch) override { journal_.need(epoch, true); }
  bool on_disk(std::uint64_t epoch) override { return journal_.writer().synced() >= epoch; }
  std::uint64_t ceiling() override { return ceiling_(); }
  void checkpointed(std::uint64_t epoch) override {
    journal_.rebased(epoch);
    journal_.truncate(epoch);
  }

 private:
  Journal& journal_;
  std::function<std::uint64_t()> ceiling_;
};

}  // namespace mxkv::server
