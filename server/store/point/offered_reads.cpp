#include "server/store/point/offered_reads.hpp"

#include <algorithm>
#include <new>

#include "index/lookup_task.hpp"
#include "index/start_together.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/paths.hpp"
#include "server/store/core/visibility.hpp"
#include "server/store/item/value_reply.hpp"
#include "server/store/point/get_task.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

/// Looks up one of the reads.
class OfferedReads::Get final : public index::LookupTask<OfferedReads::Get, ItemTraits> {
  using Base = index::LookupTask<Get, ItemTraits>;

 public:
  static constexpr const char* kName = "offered read";

  Get(const runtime::TaskClass* task_class, ItemTree& tree, OfferedReads& row, Read& read) noexcept
      : Base(task_class, tree), row_(&row), read_(&read), key_(read.key), key_bytes_(read.key_bytes) {}

  [[nodiscard]] std::string_view key() const noexcept { return {key_, key_bytes_}; }
  runtime::step on_found(std::uint64_t value, runtime::Worker& worker) {
    read_->found = value;
    row_->one_ended(worker);
    return runtime::step::done;
  }
  runtime::step on_missing(runtime::Worker& worker) {
    read_->found = 0;
    row_->one_ended(worker);
    return runtime::step::done;
  }
  void discard(runtime::Worker& worker) noexcept {
    if (--row_->under_way_ == 0) {
      row_->task_class().discard(*row_, worker);
    }
  }

 private:
  OfferedReads* row_;
  Read* read_;
  const char* key_;
  std::size_t key_bytes_;
};

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
    std::size_t bytes = row * sizeof(Read);
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
  char* text = block.data() + keys.size() * sizeof(Read);
  Read* read = reads();
  for (const protocol::AskedKey& key : keys) {
    new (read++) Read{text, 0, key.bytes, key.how};
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
  start(worker);
  return runtime::step::parked;
}

void OfferedReads::start(runtime::Worker& worker) {
  if (worker.id().value() != first_.worker) {
    MXKV_PATH(offered_taken);
    taken_ = true;
    worker.local<WorkerContext>().counters.count(counter::taken_reads, count_);
  } else {
    MXKV_PATH(offered_kept);
  }
  worker.pin(*this);
  under_way_ = count_;
  index::StartTogether<Get> start(*tree_, count_, worker);
  for (Read& read : std::span{reads(), count_}) {
    start.start(*worker.create<Get>(*tree_, *this, read));
  }
}

void OfferedReads::one_ended(runtime::Worker& worker) {
  if (--under_way_ != 0) {
    return;
  }
  write(worker);
  worker.unpin(*this);
  ended_ = true;
  if (worker.id().value() == first_.worker) {
    answer(worker);
    worker.finish(*this);
    return;
  }
  annotate(runtime::WorkerId{first_.worker});
  worker.spawn(this);
}

void OfferedReads::write(runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  if (context.minds_horizon() || context.watch->wants(watched::kFetchers)) [[unlikely]] {
    return;
  }
  const Liveness live{worker};
  char* out = replies_;
  std::uint64_t hits = 0;
  std::uint64_t meta = 0;
  for (const Read& read : std::span{reads(), count_}) {
    char* const end = write_one(out, read, worker, live);
    if (end == nullptr) {
      MXKV_PATH(offered_cut);
      break;
    }
    out = end;
    ++answered_;
    hits += read.found != 0 ? 1 : 0;
    meta += read.how == protocol::asked::meta ? 1 : 0;
  }
  bytes_ = static_cast<std::size_t>(out - replies_);
  context.counters.count(counter::get_hits, hits);
  context.counters.count(counter::get_misses, answered_ - hits);
  context.counters.count(counter::cmd_meta, meta);
}

// Null: this read has to be answered at home.
char* OfferedReads::write_one(char* out, const Read& read, runtime::Worker& worker, const Liveness& live) {
  const auto room = static_cast<std::size_t>(block_->limit - out);
  const bool meta = read.how == protocol::asked::meta;
  const bool end_line = read.how != protocol::asked::before_others;
  if (read.found == 0) {
    const std::string_view text = meta ? protocol::kMetaMiss : protocol::kEnd;
    return room < kAroundValue ? nullptr : end_line ? protocol::write_text(out, text) : out;
  }
  Item& item = *ItemRecord::item(read.found);
  const Item::View view{item};
  if (view.large() || room < kAroundValue + view.inline_length() || !live(view) ||
      (meta && item.to_be_renewed())) [[unlikely]] {
    return nullptr;
  }
  item.note_access(worker.now_us());
  if (view.plain() && view.inline_length() <= kMostMiddling) [[likely]] {
    const Item::PlainView plain{item};
    return meta ? write_plain_meta_value(out, plain) : write_plain_value(out, plain, end_line);
  }
  if (!meta) {
    return write_inline_value(out, view.key(), view, {.end_line = end_line});
  }
  out = protocol::write_number(protocol::write_text(out, kMetaValue), view.inline_length());
  out = protocol::write_short_text(protocol::write_text(out, protocol::kCrLf), view.value());
  return protocol::write_text(out, protocol::kCrLf);
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
  // write() leaves all reads to home where reads wait for the disk: the row has seen nothing that does.
  const Seen seen = SeenOrder{}.at_home(worker.local<WorkerContext>());
  home_->answer_row(first_, seen, answered_, block, replies_, bytes_);
}

void OfferedReads::start_rest(runtime::Worker& worker) {
  ReplyAddress address = first_;
  address.ticket += answered_;
  index::StartTogether<GetTask> start(*tree_, static_cast<std::uint32_t>(count_ - answered_), worker);
  for (const Read& read : std::span{reads(), count_}.subspan(answered_)) {
    start.start(*worker.create_in<GetTask>(GetTask::block_for(read.key_bytes), *tree_,
                                           std::string_view{read.key, read.key_bytes},
                                           static_cast<std::uint8_t>(read.how), address));
    ++address.ticket;
  }
}

void OfferedReads::discard(runtime::Worker& /*worker*/) noexcept {
  if (block_ != nullptr) {
    home_->give_back(*std::exchange(block_, nullptr));
  }
}

}  // namespace mxkv::server
