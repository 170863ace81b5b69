// Connection's functions for closing a connection before its client does.
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/connection/connection.hpp"
#include "server/net/connection/connection_host.hpp"

namespace mxkv::server {

void Connection::check_times(std::uint64_t now_ns) {
  MXKV_ASSERT(!closed(), "a closed connection has no times");
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  const config::LimitOptions& limits = net_.limits();
  if (is(life_stage::greeting)) {
    if (now_ns - client_.read_ns.load(std::memory_order_relaxed) >= limits.handshake_ms * kNsPerMs) {
      give_up_handshake("not finished in time");
    }
    return;
  }
  if (!session_->wants_input() || held_.holds()) {
    unread_ns_ = now_ns;
  }
  if (output_waits_ && session_->unsent_bytes() >= limits.output_high_water &&
      now_ns - sent_ns_ >= limits.output_stall_ms * kNsPerMs) {
    NetCounters::add(net_.counters().stalled);
    net_.host().happenings->note(happening::closed_unread, {.client = client_name()});
    close();
  } else if (limits.idle_timeout_ms != 0 && !door_->peer && !session_->state().is(session_state::watch) &&
             !session_->watches() && !session_->pauses().has(pause::login | pause::rate) &&
             session_->entry().order.in_flight() == 0 && session_->unsent_bytes() == 0 && !held_.holds() &&
             sends_nothing(now_ns, limits.idle_timeout_ms * kNsPerMs)) {
    NetCounters::add(net_.counters().idle_closed);
    net_.host().happenings->note(happening::closed_idle,
                                 {.client = client_name(), .text = ": no request for limits.idle_timeout"});
    ends_for_ = "idle_timeout";
    close();
  }
}

bool Connection::takes_nothing(std::uint64_t now_ns) const noexcept {
  return output_waits_ && now_ns - sent_ns_ >= kIdleWhereShortNs;
}

// A connection with unread bytes waits for the worker, not for its client: the machine may have stopped the daemon.
bool Connection::sends_nothing(std::uint64_t now_ns, std::uint64_t for_ns) const noexcept {
  return session_->wants_input() && !socket_.readable() && now_ns - silent_since_ns() >= for_ns;
}

void Connection::close_for_output() {
  MXKV_ASSERT(!closed(), "a connection is counted once");
  NetCounters::add(net_.counters().output_full);
  close();
}

void Connection::close_for_input() {
  MXKV_ASSERT(!closed() && !session_->running(), "no session is refused in the middle of its input");
  if (is(life_stage::greeting)) {
    net_.refused_input();
    give_up_handshake("out of memory to wait for the rest of it");
    return;
  }
  session_.step().refuse_input();
  net_.refused_input();
}

void Connection::close() {
  if (closed()) {
    return;
  }
  if (taker_ != nullptr) {
    net_.leaves_no_more(*this);
  }
  tell_watchers(session_->ended_in_error() ? "error" : ends_for_);
  net_.leave_gate(*this, held_.holds(), session_->paused_for(pause::journal));
  net_.unlist(*this);
  if (std::exchange(output_waits_, false)) {
    net_.sending_waits(false);
  }
  const bool said_all = session_->output().unsent_bytes() == 0;
  session_.end();
  if (door_->tls != nullptr) [[unlikely]] {
    leave_tls();
  }
  net_.clients().close(socket_.descriptor());
  socket_.close(said_all);
  net_.delete_later(*this);
}

}  // namespace mxkv::server
