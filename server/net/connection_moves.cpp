// Connection's functions: how it leaves for another worker.
//
// It leaves at rest. Many are at rest at the end of most rounds. One that never is, since its client sends on
// and on, is not read and takes no request until those that it has begun are answered; what was read goes with
// it. In the middle of a value, a batch or a stream it waits for the end of that first. All that for a tenth
// of a second at most: then it stays, as one does that is drained or whose client left.
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/connection.hpp"
#include "server/net/net_worker.hpp"

namespace mxkv::server {

namespace {
/// A request costs about as much as so many bytes that are only moved.
constexpr std::uint64_t kBytesOfRequest = 1000;
/// How long a connection may take to come to rest.
constexpr std::uint64_t kLeavesForNs = 100'000'000;
}  // namespace

// Its session takes what is held in its first turn, in which the socket is read, too: whatever was told of it
// to the worker that it came from.
Connection::Connection(NetWorker& net, const MovedConnection& moved)
    : net_(net),
      socket_(moved.socket),
      session_(std::in_place, net.host(), *this, moved.held),
      readable_(true),
      read_on_(moved.read_on),
      settled_ns_(moved.settled_ns),
      confined_(moved.confined),
      judged_(session_->output().end()),
      read_ns_(moved.read_ns) {
  note_work();
}

std::uint64_t Connection::work() const noexcept {
  const ConnectionState& entry = session_->entry();
  const std::uint32_t requests = entry.ended - noted_.ended;
  return requests * kBytesOfRequest + (read_bytes_ + entry.replies.written_bytes() - noted_.bytes);
}

void Connection::note_work() noexcept {
  const ConnectionState& entry = session_->entry();
  noted_ = {entry.ended, read_bytes_ + entry.replies.written_bytes()};
}

bool Connection::movable(std::uint64_t now_ns) const noexcept {
  return stage_ == connection_stage::serving && taker_ == nullptr && now_ns >= settled_ns_;
}

void Connection::begin_leaving(NetWorker& taker) noexcept {
  MXKV_ASSERT(stage_ == connection_stage::serving && taker_ == nullptr, "it leaves once, while it serves");
  taker_ = &taker;
  leaves_ns_ = net_.now_ns();
}

Connection::leaving Connection::go_on_leaving() {
  MXKV_ASSERT(taker_ != nullptr && !closed(), "only one that leaves goes on with it");
  if (stage_ != connection_stage::serving || net_.now_ns() - leaves_ns_ > kLeavesForNs) {
    stay();
    return leaving::stays;
  }
  if (!session_->may_move()) {
    return leaving::waits;
  }
  if (!session_->paused_for(pause::move)) {
    session_->come_to_rest();
  }
  return session_->rests() && !gate_.holds() ? leaving::rests : leaving::waits;
}

void Connection::stay() {
  taker_ = nullptr;
  if (session_->paused_for(pause::move)) {
    session_->stay();
    net_.directory().mark_dirty(session_->entry());
    net_.make_ready(*this);
  }
}

std::unique_ptr<MovedConnection> Connection::leave() {
  MXKV_ASSERT(!closed() && session_->rests() && !gate_.holds() && !output_waits_, "one that rests leaves");
  auto moved = std::make_unique<MovedConnection>();
  moved->from = &net_;
  moved->socket = socket_;
  moved->held = session_->held();
  moved->read_on = read_on_;
  moved->confined = confined_;
  moved->read_ns = read_ns_.load(std::memory_order_relaxed);
  moved->keepalive_ms = net_.limits().keepalive_ms;
  taker_ = nullptr;
  stage_ = connection_stage::closed;
  net_.events().remove(socket_);
  session_.reset();
  return moved;
}

}  // namespace mxkv::server
