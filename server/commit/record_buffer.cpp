#include "server/commit/record_buffer.hpp"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace mxkv::server {
namespace {

/// Room for any record: a block is only begun with so much.
constexpr std::size_t kLeastBlock = sizeof(RecordBlock) + kBlockHeaderBytes + most_bytes();
static_assert(sizeof(RecordChunk) + kLeastBlock < RecordChunk::kBytes);

char* aligned(char* at) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return at + (-address & (alignof(RecordBlock) - 1));
}

void push(std::atomic<RecordBlock*>& list, RecordBlock* first, RecordBlock* last) noexcept {
  // Release, pairs with take_all(). There is one pusher, and the taker takes all: no block comes back to the
  // head between the load and the exchange.
  last->next = list.load(std::memory_order_relaxed);
  while (
      !list.compare_exchange_weak(last->next, first, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

RecordBlock* take_all(std::atomic<RecordBlock*>& list) noexcept {
  return list.load(std::memory_order_relaxed) == nullptr ? nullptr
                                                         : list.exchange(nullptr, std::memory_order_acquire);
}

}  // namespace

RecordBuffer::RecordBuffer(BufferShare& share) noexcept
    : label_(&share.epochs->current_word()), share_(&share) {}

RecordBuffer::~RecordBuffer() {
  if (epoch_ != 0) {
    seal();
  }
  for (RecordBlock* block = collect(); block != nullptr;) {
    RecordBlock* const next = block->next;
    give_back(block, block);
    block = next;
  }
  take_back();
  leave_chunk();
  while (spare_ != nullptr) {
    release(std::exchange(spare_, spare_->next));
  }
}

void RecordBuffer::put_apart(const PutRecord& record, const ApartValue& value) noexcept {
  MXKV_ASSERT(value.owner != nullptr && value.bytes == record.apart_bytes,
              "a value apart is all of its record's");
  append(record);
  block_->apart = value;
  seal();  // the value follows its block
}

void RecordBuffer::begin_group() noexcept {
  MXKV_DCHECK(label_ != &group_label_, "groups do not nest");
  group_label_.store(label_->load(std::memory_order_relaxed), std::memory_order_relaxed);
  label_ = &group_label_;
  put_mark(batch_mark::begin);
}

void RecordBuffer::end_group() noexcept {
  put_mark(batch_mark::end);
  label_ = &share_->epochs->current_word();
}

void RecordBuffer::put_mark(batch_mark mark) noexcept {
  at_ = write_mark(room(kRecordHeaderBytes), mark);
}

void RecordBuffer::begin_block(std::uint64_t label) noexcept {
  has_news_ = true;
  if (epoch_ != 0) {
    seal();
  }
  if (last_label_ < label) {
    last_label_ = label;
    share_->epochs->note_recorded(label);  // before the effect of the record can be seen
  }
  if (chunk_ == nullptr || static_cast<std::size_t>(chunk_->end() - chunk_at_) < kLeastBlock) {
    leave_chunk();
    // A spare chunk is missing only if the worker filled more than a chunk in this round.
    chunk_ = spare_ != nullptr ? spare_ : allocate();
    if (spare_ != nullptr) {
      spare_ = spare_->next;
      --spares_;
    }
    chunk_at_ = chunk_->begin();
  }
  block_ = ::new (static_cast<void*>(chunk_at_)) RecordBlock;
  block_->chunk = chunk_;
  block_->epoch = label;
  epoch_ = label;
  records_ = 0;
  at_ = block_->payload();
  end_ = chunk_->end();
}

void RecordBuffer::seal() noexcept {
  MXKV_ASSERT(block_ != nullptr && at_ > block_->payload(), "a block that is sealed has records or marks");
  block_->payload_bytes = static_cast<std::uint32_t>(at_ - block_->payload());
  block_->records = records_;
  chunk_at_ = aligned(at_);
  ++chunk_->under_way;
  share_->waiting_bytes.fetch_add(block_->bytes(), std::memory_order_relaxed);
  push(sealed_, block_, block_);
  block_ = nullptr;
  epoch_ = 0;
  at_ = end_ = nullptr;
}

void RecordBuffer::refill() noexcept {
  take_back();
  if (epoch_ == 0 && chunk_ != nullptr && chunk_->under_way == 0) {
    chunk_at_ = chunk_->begin();  // reuses memory that is in the cache
  }
  if (spare_ == nullptr) {
    keep(allocate());
  }
}

void RecordBuffer::park() noexcept {
  if (epoch_ != 0) {
    seal();
  }
  take_back();
  while (spares_ > 1) {
    --spares_;
    release(std::exchange(spare_, spare_->next));
  }
}

void RecordBuffer::take_back() noexcept {
  for (RecordBlock* block = take_all(returned_); block != nullptr;) {
    RecordBlock* const next = block->next;
    if (block->apart.owner != nullptr) {
      block->apart.of->release(block->apart.owner, context_);
    }
    RecordChunk* const chunk = block->chunk;
    MXKV_ASSERT(chunk->under_way > 0, "a block comes back once");
    if (--chunk->under_way == 0 && chunk != chunk_) {
      keep(chunk);
    }
    block = next;
  }
}

void RecordBuffer::leave_chunk() noexcept {
  if (chunk_ != nullptr && chunk_->under_way == 0) {
    keep(chunk_);
  }
  chunk_ = nullptr;  // take_back() keeps the chunk when its last block comes back
}

void RecordBuffer::keep(RecordChunk* chunk) noexcept {
  if (spares_ == kMostSpare) {
    release(chunk);
    return;
  }
  chunk->next = spare_;
  spare_ = chunk;
  ++spares_;
}

RecordChunk* RecordBuffer::allocate() noexcept {
  void* const memory =
      mmap(nullptr, RecordChunk::kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // A change in the tree has to be recorded, so without memory the process cannot continue.
  MXKV_ASSERT(memory != MAP_FAILED, "the system has memory for a journal buffer");
  if (share_->budget != nullptr) {
    share_->budget->charge_unconditionally(runtime::memory_category::buffers, RecordChunk::kBytes);
  }
  return ::new (memory) RecordChunk;
}

void RecordBuffer::release(RecordChunk* chunk) noexcept {
  MXKV_ASSERT(chunk->under_way == 0, "memory goes when all blocks in it came back");
  munmap(chunk, RecordChunk::kBytes);
  if (share_->budget != nullptr) {
    share_->budget->refund(runtime::memory_category::buffers, RecordChunk::kBytes);
  }
}

RecordBlock* RecordBuffer::collect() noexcept {
  RecordBlock* oldest_first = nullptr;
  for (RecordBlock* block = take_all(sealed_); block != nullptr;) {
    oldest_first = std::exchange(block, std::exchange(block->next, oldest_first));
  }
  return oldest_first;
}

void RecordBuffer::give_back(RecordBlock* first, RecordBlock* last) noexcept {
  std::uint64_t bytes = 0;
  for (const RecordBlock* block = first;; block = block->next) {
    bytes += block->bytes();
    if (block == last) {
      break;
    }
  }
  share_->waiting_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  push(returned_, first, last);
}

}  // namespace mxkv::server
