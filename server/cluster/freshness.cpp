#include "server/cluster/freshness.hpp"

namespace mxkv::server {

void Freshness::withdraw() noexcept {
  from_ns_ = 0;
  ++life_;
  asks_ = false;
  end_.reset();
  applied_.reset();
}

void Freshness::settle(const Now& now, OrderedLog& log, const AppliedMemory& memory) {
  if (now.ns >= now.heard_ns + lease_ns_) {
    withdraw();
    return;
  }
  if (end_ && !rules_.counts_from_asking) {
    asked_ns_ = now.ns;
  }
  if (end_ && now.position >= *end_) {
    end_.reset();
    applied_ = memory.begun();
  }
  if (applied_ && (memory.finished() >= *applied_ || !rules_.waits_for_memory)) {
    applied_.reset();
    from_ns_ = asked_ns_;
  }
  if (asks_ || end_ || applied_ || now.ns < asked_ns_ + period_ns_) {
    return;
  }
  asks_ = true;
  asked_ns_ = now.ns;
  log.end([this, life = life_](std::optional<LogPosition> end) {
    if (life == life_) {
      asks_ = false;
      end_ = end;
    }
  });
}

}  // namespace mxkv::server
