// Connection's functions: output that waits for the disk, and input that waits for the journal.
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/net/connection.hpp"
#include "server/net/net_worker.hpp"

namespace mxkv::server {

// Of what was written since the last time. Earlier bytes wait for no more than they did.
void Connection::mark_output() {
  const std::size_t from = std::exchange(judged_, session_->output().end());
  if (!std::exchange(session_->entry().awaits_disk, false)) {
    return;
  }
  const DiskGate& disk = *net_.disk();
  if (const std::uint64_t epoch = disk.must_wait_for(); epoch > disk.durable()) {
    if (!gate_.holds()) {
      net_.holds_output(*this);
    }
    gate_.add(from, epoch);
  }
}

void Connection::reached_disk(std::uint64_t durable) {
  MXKV_ASSERT(!closed() && gate_.holds(), "what waits for the disk is open");
  if (gate_.open(durable)) {
    client_.read_ns.store(net_.now_ns(), std::memory_order_relaxed);  // until now the client may have waited
    static_cast<void>(session_.step());                               // settle() sends it
  }
}

void Connection::journal_has_room() {
  MXKV_ASSERT(!closed(), "a closed connection waits in no list");
  session_.step().journal_has_room();
}

}  // namespace mxkv::server
