// The log and the source of a simulated herald, with the mistakes that a test makes on purpose.
#pragma once

#include <utility>

#include "server/feed/memory_log.hpp"
#include "tests/simulation/feed_world.hpp"

namespace mxkv::simulation {

/// The log, which may be switched on without waiting.
class FeedLog final : public server::MemoryLog {
 public:
  using MemoryLog::MemoryLog;
  bool waits = true;

 private:
  [[nodiscard]] bool all_answered() const noexcept override { return !waits || MemoryLog::all_answered(); }
};

/// A source that may say too early how far it has come.
class FeedSource final : public server::ChangeSource {
 public:
  FeedSource(const server::MemoryLog& log, feed_fault fault) : of_ring_(log), fault_(fault) {}

  [[nodiscard]] std::uint64_t tag() const noexcept override { return of_ring_.tag(); }
  [[nodiscard]] std::uint64_t through() const noexcept override {
    const bool early = fault_ == feed_fault::early_mark || (fault_ == feed_fault::late_now && !sought_);
    return of_ring_.through() + (early ? 1 : 0);
  }
  [[nodiscard]] server::Position oldest() const override { return of_ring_.oldest(); }
  [[nodiscard]] server::position_state seek(const server::Position& position) override {
    sought_ = true;
    if (fault_ == feed_fault::early_mark) {
      static_cast<void>(of_ring_.seek({position.tag, position.epoch - 1}));
      return server::position_state::ok;
    }
    if (position.epoch > of_ring_.through()) {
      late_ = position.epoch;
      return server::position_state::ok;
    }
    return of_ring_.seek(position);
  }
  std::uint64_t seek_end() override {
    const std::uint64_t end = through();
    static_cast<void>(seek({tag(), end}));
    return end;
  }
  [[nodiscard]] outcome next(server::ChangeEpoch& to) override {
    if (late_ != 0) {
      if (of_ring_.through() < late_) {
        return outcome::none;
      }
      static_cast<void>(of_ring_.seek({tag(), std::exchange(late_, 0)}));
    }
    return of_ring_.next(to);
  }

 private:
  server::RingSource of_ring_;
  feed_fault fault_;
  bool sought_ = false;
  std::uint64_t late_ = 0;
};

}  // namespace mxkv::simulation
