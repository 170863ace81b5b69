// The poller of a worker without sockets: waits on an eventfd.
#pragma once

#include "runtime/scheduler/poller.hpp"

namespace mxkv::runtime {

/// Throws std::system_error when the system has no descriptor left.
class EventPoller final : public Poller {
 public:
  EventPoller();
  ~EventPoller() override;
  EventPoller(const EventPoller&) = delete;
  EventPoller& operator=(const EventPoller&) = delete;

  bool poll(Worker&) override { return false; }
  bool end_turn(Worker&) override { return false; }
  void block(Worker& worker, std::uint64_t timeout_ns) override;
  void wake() noexcept override;

 private:
  int descriptor_;
};

}  // namespace mxkv::runtime
