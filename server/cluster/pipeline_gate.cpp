#include "server/cluster/pipeline_gate.hpp"

#include <utility>

namespace mxkv::server {

PipelineGate::PipelineGate(EpochPipeline& pipeline, std::size_t workers, std::uint64_t most_waiting,
                           std::uint64_t most_wait_ns, std::function<void(std::size_t)> wake,
                           std::function<void()> news)
    : pipeline_(pipeline),
      workers_(workers),
      most_waiting_(most_waiting),
      most_wait_ns_(most_wait_ns),
      wake_(std::move(wake)),
      news_(std::move(news)),
      seats_(std::make_unique<Seat[]>(workers)) {}

void PipelineGate::waits(std::size_t worker, bool begins) noexcept {
  seats_[worker].waits.store(begins);
  if (begins) {
    news_();
  }
}

void PipelineGate::changed() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    if (seats_[worker].waits.load()) {
      wake_(worker);
    }
  }
}

}  // namespace mxkv::server
