#include "server/cluster/freshness.hpp"

#include "runtime/base/assert.hpp"

namespace mxkv::server {

void Freshness::withdraw() noexcept {
  from_ns_ = counted_ns_ = lived_ns_ = 0;
  ++life_;
  asks_ = false;
  end_.reset();
  applied_.reset();
  told_.reset();
}

void Freshness::take_end(LogPosition end) {
  end_ = end;
  if (!told_ || told_->end == end) {
    told_ = Told{.asked_ns = asked_ns_, .end = end};
  }
}

void Freshness::settle(const Now& now, OrderedLog& log) {
  MXKV_ASSERT(now.ns >= asked_ns_, "the clock does not go back");
  MXKV_ASSERT(now.finished <= now.begun, "memory ends only calls that began");
  if (now.ns >= now.heard_ns + lease_ns_) {
    withdraw();
    return;
  }
  if (end_ && !rules_.counts_from_asking) {
    asked_ns_ = now.ns;
  }
  if (told_ && now.position > told_->end) {
    lived_ns_ = told_->asked_ns;
    told_.reset();
  }
  if (end_ && now.position >= *end_) {
    end_.reset();
    applied_ = now.begun;
  }
  if (applied_ && (now.finished >= *applied_ || !rules_.waits_for_memory)) {
    applied_.reset();
    MXKV_ASSERT(asked_ns_ >= counted_ns_, "a later answer is as fresh");
    counted_ns_ = asked_ns_;
  }
  from_ns_ = lived_ns_ != 0 && now.ns < lived_ns_ + lease_ns_ ? counted_ns_ : 0;
  MXKV_ASSERT(from_ns_ <= now.ns, "memory is not fresher than now");
  if (asks_ || end_ || applied_ || now.ns < asked_ns_ + period_ns_) {
    return;
  }
  asks_ = true;
  asked_ns_ = now.ns;
  log.end([this, life = life_](std::optional<LogPosition> end) {
    if (life == life_) {
      asks_ = false;
      if (end) {
        take_end(*end);
      }
    }
  });
}

}  // namespace mxkv::server
