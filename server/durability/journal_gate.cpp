#include "server/durability/journal_gate.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::server {

JournalGate::JournalGate(Journal& journal, const runtime::Clock& clock, std::size_t workers,
                         std::uint64_t most_waiting, std::function<void(std::size_t)> wake)
    : journal_(journal),
      clock_(clock),
      workers_(workers),
      most_waiting_(most_waiting),
      wake_(std::move(wake)),
      seats_(std::make_unique<Seat[]>(workers)) {}

void JournalGate::waits(std::size_t worker, bool begins) noexcept {
  seats_[worker].waits.store(begins);
  if (begins) {
    // The writer may delay the flush: sync interval, sync never.
    journal_.need(journal_.epochs().last_recorded());
  }
}

std::uint64_t JournalGate::must_wait_for() const noexcept {
  const std::uint64_t recorded = journal_.epochs().last_recorded();
  if (recorded <= journal_.epochs().durable()) {
    return 0;
  }
  return journal_.writer().replies_wait(clock_.monotonic_ns()) ? recorded : 0;
}

void JournalGate::changed() {
  const std::string reason = journal_.writer().refusal();
  const char* text = nullptr;
  if (!reason.empty()) {
    auto known = std::ranges::find(texts_, reason);
    if (known == texts_.end()) {
      known = texts_.insert(texts_.end(), reason);
    }
    text = known->c_str();
  }
  refusal_.store(text, std::memory_order_release);  // pairs with refusal()
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    if (seats_[worker].waits.load()) {
      wake_(worker);
    }
  }
}

}  // namespace mxkv::server
