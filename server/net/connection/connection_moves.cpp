// Connection's functions for moving to another worker.
//
// A connection moves at rest. At the end of most rounds many connections are at rest. A connection that never
// is, because its client sends all the time, is not read and takes no requests until those under way are
// answered. Bytes already read move with it. In the middle of a value, a batch or a stream it first waits for
// the end of that. All that takes at most a tenth of a second: then it stays. A connection that is being
// drained, or whose client left, stays, too.
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/connection/connection.hpp"
#include "server/net/connection/connection_host.hpp"

namespace mxkv::server {

namespace {
/// A request costs about as much as moving so many bytes.
constexpr std::uint64_t kBytesOfRequest = 1000;
/// How long a connection may take to come to rest.
constexpr std::uint64_t kLeavesForNs = 100'000'000;
}  // namespace

// In its first turn the session takes the held bytes and the socket is read, because the old worker may have
// consumed the socket's event.
Connection::Connection(ConnectionHost& net, MovedConnection& moved)
    : net_(net),
      door_(moved.door),
      socket_(net, std::move(moved.socket)),
      client_(net.client_of(socket_.descriptor())),
      session_(net.host(), *this, moved.held, moved.binary, std::move(moved.seat)),
      unread_ns_(net.now_ns()),
      settled_ns_(moved.settled_ns),
      held_(session_->output().end()) {
  session_->entry().descriptor.store(socket_.descriptor(), std::memory_order_relaxed);
  requests_before_ = client_.requests.load(std::memory_order_relaxed);
  session_->entry().asked_ns = moved.read_ns;  // for the bytes that it holds
  session_->entry().by_peer = door_->peer;
  session_->entry().takes_stale = door_->takes_stale;
  session_.unsettled().meter(door_->peer ? nullptr : client_.usage.get());
  session_.unsettled().show_last(client_.last);
  client_.worker.store(net_.host().worker.id().value(), std::memory_order_relaxed);
  note_work();
}

std::uint64_t Connection::work() const noexcept {
  const ConnectionState& entry = session_->entry();
  const std::uint32_t requests = entry.ended - noted_.ended;
  return requests * kBytesOfRequest + (entry.read_bytes + entry.replies.written_bytes() - noted_.bytes);
}

void Connection::note_work() noexcept {
  const ConnectionState& entry = session_->entry();
  noted_ = {entry.ended, entry.read_bytes + entry.replies.written_bytes()};
}

bool Connection::movable(std::uint64_t now_ns) const noexcept {
  return is(life_stage::serving) && taker_ == nullptr && now_ns >= settled_ns_;
}

void Connection::begin_leaving(NetWorker& taker) noexcept {
  MXKV_ASSERT(taker_ == nullptr, "a connection leaves for one worker");
  session_->entry().life.leave();
  taker_ = &taker;
  leaves_ns_ = net_.now_ns();
}

bool Connection::go_on_leaving() {
  MXKV_ASSERT(taker_ != nullptr && !closed(), "only one that leaves goes on with it");
  if (is(life_stage::draining) || net_.now_ns() - leaves_ns_ > kLeavesForNs) {
    stay();
    return false;
  }
  if (!session_->may_move()) {
    return false;
  }
  if (!session_->paused_for(pause::move)) {
    session_.step().come_to_rest();
  }
  return session_->rests() && !held_.holds();
}

void Connection::stay() {
  taker_ = nullptr;
  if (is(life_stage::leaving)) {
    session_->entry().life.stay();
  }
  if (session_->paused_for(pause::move)) {
    session_.step().stay();
  }
}

std::unique_ptr<MovedConnection> Connection::leave() {
  MXKV_ASSERT(!closed() && session_->rests() && !held_.holds() && !output_waits_, "one that rests leaves");
  auto moved = std::make_unique<MovedConnection>();
  moved->door = door_;
  moved->held = session_->held();
  moved->binary = session_->state().speaks_binary();
  moved->seat = session_.unsettled().give_seat();
  moved->read_ns = client_.read_ns.load(std::memory_order_relaxed);
  moved->keepalive_ms = net_.limits().keepalive_ms;
  taker_ = nullptr;
  net_.events().remove(socket_.descriptor());
  moved->socket = socket_.leave();
  session_.end();
  return moved;
}

}  // namespace mxkv::server
