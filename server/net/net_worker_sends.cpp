// NetWorker's functions for connections that have more to send than a round, or their socket, takes.
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/net_worker.hpp"

namespace mxkv::server {

void NetWorker::wait_to_send(Connection& connection) {
  if (!std::exchange(connection.waits_to_send_, true)) {
    send_turns_.wait(connection);
  }
}

// Returns true: as long as a connection is in the queue, the next round must come.
bool NetWorker::send_in_turn() {
  send_turns_.serve([](Connection& connection) {
    connection.waits_to_send_ = false;
    if (!connection.closed()) {
      static_cast<void>(connection.settle());
    }
  });
  return true;
}

void NetWorker::sending_waits(bool begins) {
  if (begins) {
    ++sending_waits_;
    arm_timer();
  } else {
    MXKV_ASSERT(sending_waits_ > 0, "a wait ends once");
    --sending_waits_;
  }
}

}  // namespace mxkv::server
