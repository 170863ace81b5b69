#include "server/store/point/offered_reads.hpp"

#include <algorithm>
#include <new>

#include "protocol/reply.hpp"
#include "runtime/base/paths.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/item/value_reply.hpp"
#include "server/store/point/get_task.hpp"
#include "server/store/point/read_row.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

namespace {

/// Most bytes of reads and their keys in a block; the rest is room for replies.
constexpr std::size_t kMostOfKeys = 4096;
constexpr std::size_t kPieceAlignment = 8;
constexpr std::size_t kBeforeReplies = ReplyQueue::kBeforeRow + kPieceAlignment;

char* aligned(char* at) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return at + (kPieceAlignment - address % kPieceAlignment) % kPieceAlignment;
}

}  // namespace

std::size_t OfferedReads::offer(runtime::Worker& worker, ItemTree& tree,
                                std::span<const protocol::AskedKey> keys, const ReplyAddress& first,
                                const ReadOfferOptions& options) {
  auto& context = worker.local<WorkerContext>();
  ReadOffers& offers = *context.offers;
  const std::size_t kept = keys.size() - offers.beyond(options.kept, keys.size(), worker.now_ns());
  if (kept == keys.size() || context.minds_horizon() || context.watch->wants(watched::kFetchers) ||
      !first.wants_reply() ||
      (options.mode != read_offering::always && !offers.wanted([&worker] { return worker.mate_parked(); }))) {
    return keys.size();
  }
  const runtime::ImmediateQueue& waiting = worker.locality_queues().immediate();
  std::size_t left = keys.size();
  while (left > kept && waiting.size() < ReadOffers::kMostWaiting) {
    const auto row = offers.row(static_cast<std::uint32_t>(std::min<std::size_t>(options.row, left - kept)),
                                BlockPool::kBlockRoom - kMostOfKeys);
    std::size_t bytes = row * sizeof(protocol::AskedKey);
    for (const protocol::AskedKey& key : keys.subspan(left - row, row)) {
      bytes += key.bytes;
    }
    if (row < std::min(options.row, ReadOffers::kLeastInRow) || bytes > kMostOfKeys) {
      break;
    }
    Segment* const block = context.replies->lend_block(
        std::min(bytes + kBeforeReplies + kAroundValue + offers.room_for(row), BlockPool::kBlockRoom));
    if (block == nullptr) {
      break;
    }
    MXKV_PATH(reads_offered);
    left -= row;
    ReplyAddress address = first;
    address.ticket += static_cast<std::uint32_t>(left);
    auto* const task =
        worker.create<OfferedReads>(tree, address, *context.replies, *block, keys.subspan(left, row));
    context.counters.count(counter::offered_reads, row);
    worker.spawn(task);
  }
  return left;
}

OfferedReads::OfferedReads(const runtime::TaskClass* task_class, ItemTree& tree, const ReplyAddress& first,
                           ConnectionTable& home, Segment& block, std::span<const protocol::AskedKey> keys)
    : MxTask(task_class),
      tree_(&tree),
      home_(&home),
      first_(first),
      block_(&block),
      count_(static_cast<std::uint16_t>(keys.size())) {
  annotate(runtime::locality::immediate);
  char* text = block.data() + keys.size() * sizeof(protocol::AskedKey);
  protocol::AskedKey* read = reads();
  for (const protocol::AskedKey& key : keys) {
    new (read++) protocol::AskedKey{text, key.bytes, key.how};
    text = protocol::write_short_text(text, key.view());
  }
  replies_ = aligned(text) + ReplyQueue::kBeforeRow;
}

runtime::step OfferedReads::execute(runtime::Worker& worker) {
  if (ended_) {
    answer(worker);
    return runtime::step::done;
  }
  if (worker.id().value() == first_.worker && worker.any_ready()) {
    // Its own worker is busy, so the reads are offered once more.
    MXKV_PATH(offered_again);
    annotate(runtime::locality::immediate);
    worker.spawn(this);
    return runtime::step::parked;
  }
  const bool at_home = worker.id().value() == first_.worker;
  if (at_home) {
    MXKV_PATH(offered_kept);
  } else {
    MXKV_PATH(offered_taken);
    taken_ = true;
    worker.local<WorkerContext>().counters.count(counter::taken_reads, count_);
  }
  read(worker);
  if (at_home) {
    answer(worker);
    return runtime::step::done;
  }
  ended_ = true;
  annotate(runtime::WorkerId{first_.worker});
  return runtime::step::again;
}

void OfferedReads::read(runtime::Worker& worker) {
  if (!ReadRow::may_read(worker)) [[unlikely]] {
    return;
  }
  char* out = replies_;
  answered_ = static_cast<std::uint16_t>(
      ReadRow{*tree_, {reads(), count_}}.write(0, false, out, block_->limit, worker));
  bytes_ = static_cast<std::size_t>(out - replies_);
  if (answered_ < count_) {
    MXKV_PATH(offered_cut);
  }
}

// At home. answer_row() may let requests that wait behind the row go on, so it comes last.
void OfferedReads::answer(runtime::Worker& worker) {
  ReadOffers& offers = *worker.local<WorkerContext>().offers;
  if (taken_) {
    offers.taken();
  } else {
    offers.kept();
  }
  if (answered_ > 0) {
    offers.note_replies(answered_, bytes_);
  }
  if (answered_ < count_) [[unlikely]] {
    offers.cut();
    start_rest(worker);
  }
  Segment& block = *std::exchange(block_, nullptr);
  // read() leaves all reads to home where reads wait for the disk: the row has seen nothing that does.
  const Seen seen = SeenOrder{}.at_home(worker.local<WorkerContext>());
  home_->answer_row(first_, seen, answered_, block, replies_, bytes_);
}

void OfferedReads::start_rest(runtime::Worker& worker) {
  ReplyAddress address = first_;
  address.ticket += answered_;
  GetTask::start(worker, *tree_, std::span{reads(), count_}.subspan(answered_), false, address);
}

void OfferedReads::discard(runtime::Worker& /*worker*/) noexcept {
  if (block_ != nullptr) {
    home_->give_back(*std::exchange(block_, nullptr));
  }
}

}  // namespace mxkv::server
