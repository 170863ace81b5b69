#include "server/net/session/request_meter.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace mxkv::server {

std::uint32_t RequestMeter::renew(SessionCore& core) noexcept {
  std::uint32_t most = ~std::uint32_t{0};
  if (metered_) [[unlikely]] {
    allowance_.begin_charging();
    charge(core);
    most = rate_room(core);
    if (most == 0) {
      if (!core.pauses.has(pause::rate)) {
        wait_for_rate(core);
      }
      return 0;
    }
  }
  const Pauses found = allowance_.renew(core.host->limits, core.entry->replies, core.load(),
                                        core.host->directory.share(), core.pauses, most);
  if (core.pauses.has(pause::output) && !found.has(pause::output)) [[unlikely]] {
    core.entry->asked_ns =
        core.host->worker.now_ns();  // until now the requests waited for their client to read
  }
  core.pauses.remove(kOfAllowance);
  core.pauses.add(found);
  return found.empty() ? allowance_.left(core.host->turn) : 0;
}

void RequestMeter::meter(SessionCore& core, Usage* client) noexcept {
  client_ = client;
  const bool before =
      std::exchange(metered_, (client_ != nullptr && client_->has_rates()) ||
                                  (core.user() != nullptr && core.user()->usage->has_rates()));
  if (metered_ && !before) {
    charged_read_ = core.entry->read_bytes;
    charged_written_ = core.entry->replies.written_bytes();
    static_cast<void>(allowance_.take_uncharged());
  }
}

std::uint32_t RequestMeter::rate_room(const SessionCore& core) const noexcept {
  const std::uint64_t now_ns = core.host->worker.now_ns();
  std::uint64_t room = ~std::uint32_t{0};
  for (const Usage* const usage : {client_, core.user() == nullptr ? nullptr : core.user()->usage.get()}) {
    if (usage != nullptr) {
      room = std::min(room, usage->bytes.room(now_ns) == 0 ? 0 : usage->requests.room(now_ns));
    }
  }
  return static_cast<std::uint32_t>(room);
}

void RequestMeter::charge(SessionCore& core) noexcept {
  const std::uint64_t now_ns = core.host->worker.now_ns();
  const std::uint64_t written = core.entry->replies.written_bytes();
  const std::uint64_t bytes =
      (core.entry->read_bytes - std::exchange(charged_read_, core.entry->read_bytes)) +
      (written - std::exchange(charged_written_, written));
  const std::uint32_t requests = allowance_.take_uncharged();
  for (Usage* const usage : {client_, core.user() == nullptr ? nullptr : core.user()->usage.get()}) {
    if (usage != nullptr) {
      usage->requests.draw(requests, now_ns);
      usage->bytes.draw(bytes, now_ns);
    }
  }
}

void RequestMeter::wait_for_rate(SessionCore& core) {
  MXKV_ASSERT(!core.pauses.has(pause::rate), "a session waits in one list once");
  core.pauses.add(pause::rate);
  core.host->rate_waiters.push_back(core.entry);
  ++core.host->rate_pauses;
  const std::uint64_t now_ns = core.host->worker.now_ns();
  std::uint64_t at_ns = now_ns;
  for (const Usage* const usage : {client_, core.user() == nullptr ? nullptr : core.user()->usage.get()}) {
    if (usage != nullptr) {
      for (const Rate* const rate : {&usage->requests, &usage->bytes}) {
        at_ns = rate->room(now_ns) == 0 ? std::max(at_ns, rate->next_ns()) : at_ns;
      }
    }
  }
  core.host->rate_at_ns = std::min(core.host->rate_at_ns, at_ns);
}

bool RequestMeter::rate_has_room(SessionCore& core) {
  MXKV_ASSERT(core.pauses.has(pause::rate), "room is given to a session that waits for it");
  core.pauses.remove(pause::rate);
  if (metered_ && core.state.takes_input() && rate_room(core) == 0) {
    wait_for_rate(core);
    --core.host->rate_pauses;
    return false;
  }
  core.entry->asked_ns =
      core.host->worker.now_ns();  // waiting for the rate does not count as a request's time
  return true;
}

}  // namespace mxkv::server
