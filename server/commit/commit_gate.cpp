#include "server/commit/commit_gate.hpp"

#include <utility>

namespace mxkv::server {

CommitGate::CommitGate(std::size_t workers, CommitGateOptions options)
    : workers_(workers), options_(std::move(options)), seats_(std::make_unique<Seat[]>(workers)) {
  MXKV_ASSERT(options_.wake != nullptr, "a worker that waits is woken");
}

void CommitGate::changed() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    if (seats_[worker].waits.load()) {
      options_.wake(worker);
    }
  }
}

}  // namespace mxkv::server
