#include "server/feed/feed.hpp"

#include <utility>
#include <vector>

#include "server/commit/position.hpp"
#include "server/durability/checkpoint_keeper.hpp"

namespace mxkv::server {

namespace {

/// Of the memory limit, if the options leave it open, and of a server without a limit.
constexpr std::size_t kShareOfLimit = 64;
constexpr std::size_t kWithoutLimit = std::size_t{64} << 20U;

std::vector<void*> workers_of(runtime::Runtime& runtime) {
  std::vector<void*> workers;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    workers.push_back(&runtime.worker(runtime::WorkerId{static_cast<std::uint16_t>(i)}));
  }
  return workers;
}

std::size_t frame_bytes(const config::WatchOptions& options, std::size_t limit_bytes) {
  if (options.memory_bytes != 0) {
    return options.memory_bytes;
  }
  return limit_bytes == runtime::MemoryBudget::kUnlimited ? kWithoutLimit : limit_bytes / kShareOfLimit;
}

}  // namespace

Feed::Feed(runtime::Runtime& runtime, Store& store, Durability* durability,
           const config::WatchOptions& options)
    : durability_(durability),
      thread_(runtime.clock(), [this](std::uint64_t now_ns) { return herald_->step(now_ns); }) {
  if (durability != nullptr) {
    begin_log(*durability, options);
  } else {
    begin_log(runtime, store, options);
  }
  FeedSwitch& log = memory_ != nullptr ? static_cast<FeedSwitch&>(*memory_) : *journal_;
  herald_ = std::make_unique<Herald>(
      log, *live_, *past_, runtime.clock(), &runtime.budget(),
      HeraldOptions{.workers = runtime.worker_count(),
                    .most_watches = options.most,
                    .memory_bytes = frame_bytes(options, runtime.budget().limit_bytes()),
                    .value_bytes = options.value_bytes,
                    .mark_ns = options.mark_ms * kNsPerMs},
      HeraldHooks{.wake = [this] { thread_.wake(); },
                  .wake_worker = [this](std::size_t worker) { wake_worker(worker); }});
}

Feed::~Feed() {
  stop();
  if (durability_ != nullptr) {
    durability_->tell_reader({});
  }
}

void Feed::begin_log(runtime::Runtime& runtime, Store& store, const config::WatchOptions& options) {
  memory_ = std::make_unique<MemoryLog>(
      workers_of(runtime), store.tree().commits(), runtime.clock(), &runtime.budget(),
      MemoryLogOptions{.tag = draw_tag({}),
                       .ring_bytes = options.ring_bytes,
                       .value_bytes = options.value_bytes,
                       .linger_ns = options.linger_ms * kNsPerMs},
      MemoryLogHooks{.wake = [this] { thread_.wake(); },
                     .wake_worker = [this](std::size_t worker) { wake_worker(worker); }});
  live_ = std::make_unique<RingSource>(*memory_);
  past_ = std::make_unique<RingSource>(*memory_);
}

// History is asked for before the journal begins: else its first step would give the history on disk back.
void Feed::begin_log(Durability& durability, const config::WatchOptions& options) {
  durability.keep_history(options.history_bytes);
  const CommitEpochs& epochs = durability.epochs();
  journal_ = std::make_unique<JournalLog>(
      epochs, JournalLogHooks{.need = [&durability](std::uint64_t epoch) { durability.need(epoch); },
                              .tag_is_kept = [&durability] { return durability.manifest_is_kept(); },
                              .wake = [this] { thread_.wake(); }});
  const TailOptions tail = tail_options(durability.manifest(), epochs);
  live_ = std::make_unique<JournalTail>(durability.disk(), tail);
  past_ = std::make_unique<JournalTail>(durability.disk(), tail);
  durability.tell_reader([this] { journal_->changed(); });
}

void Feed::start(std::function<void(std::size_t)> wake_worker) {
  wake_worker_ = std::move(wake_worker);
  thread_.start();
}

}  // namespace mxkv::server
