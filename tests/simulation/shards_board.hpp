// The board of a simulated cluster, as far as snapshots need it: all nodes see a record later, or it is lost.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/cluster/board.hpp"
#include "tests/simulation/cluster_engine.hpp"

namespace mxkv::simulation {

/// Thread-safety: one thread.
class ShardsBoard {
 public:
  ShardsBoard(Timeline& timeline, Dice& dice) : timeline_(timeline), dice_(dice) {}

  void put(std::string key, std::string value, const NodeLink& link, server::Board::Done done) {
    const bool stored = !link.requests_cut && !dice_.permille(harm);
    const bool answered = stored && !dice_.permille(harm);
    timeline_.in(dice_.between(kMs, 30 * kMs),
                 [this, stored, answered, entry = std::pair{std::move(key), std::move(value)},
                  done = std::move(done)] {
                   if (stored) {
                     entries_.push_back(entry);
                   }
                   timeline_.in(answered ? kMs : kSecond, [answered, done] { done(answered); });
                 });
  }
  /// Hands `sink` the records behind `position`, and moves it on.
  void read(std::size_t& position, server::BoardSink& sink) const {
    for (; position < entries_.size(); ++position) {
      sink.put_up(position, entries_[position].first, entries_[position].second);
    }
  }

  std::uint64_t harm = 0;  ///< of a thousand puts, and of as many answers

 private:
  Timeline& timeline_;
  Dice& dice_;
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace mxkv::simulation
