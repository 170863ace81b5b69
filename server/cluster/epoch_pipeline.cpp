#include "server/cluster/epoch_pipeline.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "runtime/base/assert.hpp"
#include "server/cluster/record_body.hpp"
#include "server/cluster/refusal.hpp"
#include "server/commit/record_reader.hpp"

namespace mxkv::server {
namespace {

void count(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);  // one writer
}

}  // namespace

EpochPipeline::EpochPipeline(std::size_t workers, const Routes& routes, const runtime::Clock& clock,
                             runtime::MemoryBudget* budget, PipelineHooks hooks, CommitGateOptions gate,
                             std::uint64_t most_wait_ns)
    : CommitGate(workers, std::move(gate)),
      epochs_(workers, 1, 0),
      share_{.epochs = &epochs_, .budget = budget},
      routes_(routes),
      clock_(clock),
      hooks_(std::move(hooks)),
      most_wait_ns_(most_wait_ns),
      closed_(epochs_.durable()),
      passed_(closed_),
      void_through_(routes.shards()),
      bodies_(routes.shards()) {
  for (std::size_t i = 0; i < workers; ++i) {
    desks_.push_back(std::make_unique<Desk>(share_));
  }
}

EpochPipeline::~EpochPipeline() {
  for (const std::unique_ptr<Desk>& desk : desks_) {
    if (desk->first != nullptr) {
      desk->of_worker.buffer.give_back(desk->first, desk->last);
    }
  }
}

// -- workers

CommitGate::Round EpochPipeline::begin_round(runtime::WorkerId worker, std::uint64_t now_us) noexcept {
  const std::uint64_t mint_us = desks_[worker.index()]->of_worker.begin_round(epochs_, worker, now_us);
  return {.mint_us = mint_us, .horizon_us = epochs_.horizon_us(now_us)};
}

void EpochPipeline::end_round(runtime::WorkerId worker) noexcept {
  if (desks_[worker.index()]->of_worker.end_round(epochs_, worker)) [[unlikely]] {
    hooks_.wake();
  }
}

void EpochPipeline::park(runtime::WorkerId worker) noexcept {
  if (desks_[worker.index()]->of_worker.park(epochs_, worker)) {
    hooks_.wake();
  }
}

std::string_view EpochPipeline::given_up_line() const noexcept {
  return kNotAcknowledged;
}

// -- the cluster's thread

void EpochPipeline::tell() {
  changed();
  hooks_.changed();
}

bool EpochPipeline::due() const noexcept {
  return wanted_ > closed_ ||
         (epochs_.last_recorded() > closed_ && under_way_.size() < kMostUnderWay && holds_ == 0);
}

bool EpochPipeline::step() {
  if (!closing_) {
    if (!due()) {
      return false;
    }
    closed_ = epochs_.close(clock_.steady_us());
    MXKV_ASSERT(closed_ == passed_ + 1, "epochs are closed one after the other");
    closing_ = true;
  }
  if (!epochs_.await_passed(closed_)) {
    return false;  // the last worker that passes wakes this thread
  }
  closing_ = false;
  collect();
  submit();
  passed_ = closed_;
  pass_fences();
  publish();
  return true;
}

std::uint64_t EpochPipeline::end_epoch() noexcept {
  wanted_ = epochs_.current();
  return wanted_;
}

// The epoch is closed behind these stores. So a worker that sees the next epoch as current sees them, too.
std::uint64_t EpochPipeline::end_reads(bool was_here) noexcept {
  count(was_here ? drops_ : drops_of_copies_);
  return end_epoch();
}

bool EpochPipeline::idle() const noexcept {
  return holds_ == 0 && !closing_ && epochs_.last_recorded() <= epochs_.durable();
}

void EpochPipeline::collect() {
  MXKV_ASSERT(under_way_.empty() || under_way_.back().epoch < closed_, "epochs are under way in their order");
  under_way_.push_back(
      {.epoch = closed_, .horizon_us = epochs_.horizon_of(closed_), .bytes = 0, .shards = {}});
  for (const std::unique_ptr<Desk>& desk : desks_) {
    if (RecordBlock* const sealed = desk->of_worker.buffer.collect(); sealed != nullptr) {
      (desk->first == nullptr ? desk->first : desk->last->next) = sealed;
      for (desk->last = sealed; desk->last->next != nullptr; desk->last = desk->last->next) {
      }
    }
    RecordBlock* dealt_first = nullptr;
    RecordBlock* dealt_last = nullptr;
    for (; desk->first != nullptr && desk->first->epoch <= closed_; desk->first = desk->first->next) {
      deal(*desk->first);
      dealt_first = dealt_first == nullptr ? desk->first : dealt_first;
      dealt_last = desk->first;
    }
    if (dealt_first != nullptr) {
      desk->of_worker.buffer.give_back(dealt_first, dealt_last);
    }
  }
}

std::string& EpochPipeline::body_of(std::uint32_t shard, [[maybe_unused]] std::uint64_t epoch) {
  std::string& body = bodies_[shard];
  if (body.empty()) {
    touched_.push_back(shard);
  }
  MXKV_DCHECK(epoch <= closed_, "what is dealt was closed");
  return body;
}

// A shard that begins where the range ends has no part of it, and may be another node's.
void EpochPipeline::deal_range(const RecordBounds& bounds, const DealPart& add) {
  const std::uint32_t last = bounds.has_no_end ? routes_.shards() - 1 : routes_.shard_of(bounds.to);
  for (std::uint32_t shard = routes_.shard_of(bounds.from); shard <= last; ++shard) {
    const RecordBounds part = kept_within(bounds, routes_.begin_of(shard), routes_.end_of(shard));
    if (!holds_nothing(part)) {
      add(shard, part);
    }
  }
}

// Deals a worker's records in its order, without marks of batches: logs have none. A record of a range goes to each shard that the range touches, cut
// to that shard.
void EpochPipeline::deal(const RecordBlock& block) {
  RecordBlock& bytes = const_cast<RecordBlock&>(block);  // NOLINT: reading its payload changes nothing
  const std::string_view payload{bytes.payload(), block.payload_bytes};
  RecordReader reader{payload};
  pieces_.clear();
  if (block.apart.owner != nullptr) {
    block.apart.of->pieces(block.apart.owner, pieces_);
  }
  while (const std::optional<Record> record = reader.next()) {
    count(counts_.records);
    const std::string_view raw = payload.substr(reader.begin(), reader.position() - reader.begin());
    std::visit(
        [&](const auto& typed) {
          using R = std::remove_cvref_t<decltype(typed)>;
          if constexpr (requires { typed.key; }) {
            std::string& body = body_of(routes_.shard_of(typed.key), block.epoch);
            if constexpr (std::is_same_v<R, PutRecord>) {
              RecordBody::add(body, raw,
                              typed.apart_bytes != 0 ? std::span<const std::string_view>{pieces_}
                                                     : std::span<const std::string_view>{});
            } else {
              RecordBody::add(body, raw);
            }
          } else if constexpr (requires { typed.bounds; }) {
            deal_range(typed.bounds, [&](std::uint32_t shard, const RecordBounds& bounds) {
              R part = typed;
              part.bounds = bounds;
              RecordBody::add_record(body_of(shard, block.epoch), part);
            });
          } else if constexpr (std::is_same_v<R, FlushRecord>) {
            const RecordBounds all{.from = {}, .to = {}, .has_no_end = true};
            deal_range(all, [&](std::uint32_t shard, const RecordBounds& bounds) {
              RecordBody::add_record(body_of(shard, block.epoch),
                                     RangeGoneRecord{.order = typed.order, .bounds = bounds});
            });
          } else {
            static_assert(std::is_same_v<R, FlushAtRecord>);
            MXKV_ASSERT(false, "no flush is set for later in a cluster");
          }
        },
        *record);
  }
  MXKV_ASSERT(reader.at_end(), "a worker writes records");
}

void EpochPipeline::submit() {
  UnderWay& now = under_way_.back();
  MXKV_ASSERT(now.epoch == closed_, "records are submitted with the epoch that was closed");
  for (const std::uint32_t shard : std::exchange(touched_, {})) {
    const std::string body = std::exchange(bodies_[shard], {});
    if (now.epoch > void_through_[shard] && hooks_.submit(shard, now.epoch, body)) {
      count(counts_.groups);
      count(counts_.bytes, body.size());
      now.bytes += body.size();
      now.shards.push_back(shard);
    } else {
      count(counts_.voided);
      strayed_.push_back(shard);
    }
  }
  under_way_bytes_.store(under_way_bytes_.load(std::memory_order_relaxed) + now.bytes,
                         std::memory_order_relaxed);
  // Records from before the loss was known are dropped with the other void data. Later ones are a new loss,
  // so this epoch must not become durable.
  for (const std::uint32_t shard : std::exchange(strayed_, {})) {
    if (now.epoch > void_through_[shard]) {
      lost(shard);
      hooks_.strayed(shard);
    }
  }
}

void EpochPipeline::acknowledged(std::uint32_t shard, std::uint64_t epoch) {
  MXKV_ASSERT(epoch <= closed_, "only submitted epochs are acknowledged");
  for (UnderWay& one : under_way_) {
    if (one.epoch > epoch) {
      break;
    }
    std::erase(one.shards, shard);
  }
  publish();
}

void EpochPipeline::lost(std::uint32_t shard) {
  MXKV_ASSERT(void_through_[shard] <= epochs_.current(), "a loss voids later records than the one before");
  void_through_[shard] = epochs_.current();
  for (UnderWay& one : under_way_) {
    std::erase(one.shards, shard);
  }
  ++holds_;
}

void EpochPipeline::found_clean() {
  MXKV_ASSERT(fences_.size() < holds_, "what is clean was lost before");
  fences_.push_back({.told = false, .epoch = end_epoch()});
}

// A fence is passed when each worker has ended a round since. In the first round that a worker begins after
// failures() has moved, it gives up its waiting replies. So when epochs become durable again, no client gets
// data that was read while memory was not clean.
void EpochPipeline::pass_fences() {
  bool news = false;
  for (Fence& fence : fences_) {
    if (fence.epoch > passed_) {
      continue;
    }
    if (fence.told) {
      MXKV_ASSERT(holds_ > 0, "a fence ends one loss");
      --holds_;
      continue;
    }
    fence.told = true;
    fence.epoch = end_epoch();
    news = true;
  }
  std::erase_if(fences_, [this](const Fence& fence) { return fence.told && fence.epoch <= passed_; });
  if (news) {
    failures_.fetch_add(1, std::memory_order_release);
    tell();
  }
}

void EpochPipeline::publish() {
  if (holds_ != 0) {
    return;
  }
  bool news = false;
  for (; !under_way_.empty() && under_way_.front().shards.empty(); under_way_.pop_front()) {
    const UnderWay& front = under_way_.front();
    MXKV_ASSERT(front.epoch == epochs_.durable() + 1, "epochs become durable in order, none is skipped");
    MXKV_ASSERT(under_way_bytes_.load(std::memory_order_relaxed) >= front.bytes, "bytes end as they began");
    epochs_.publish_durable(front.epoch, front.horizon_us);
    under_way_bytes_.store(under_way_bytes_.load(std::memory_order_relaxed) - front.bytes,
                           std::memory_order_relaxed);
    news = true;
  }
  if (news) {
    tell();
  }
}

}  // namespace mxkv::server
