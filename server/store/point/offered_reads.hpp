// A row of reads of one pipeline that any worker of the group may take: an immediate task [LAS 4.1].
//
//   home    keys into a block of its own replies ──> immediate queue: the owner takes the youngest, others the oldest
//   taker   looks the keys up in a row, and writes the replies into the block
//   home    the block into the connection's queue, as it is
//
// A waiting offer holds only keys, and a returned one only bytes, so it needs no pin. The first unusual
// read ends the row: home reads that key and those behind it anew, as any get. The connection does not know
// of the offer. Its reads are in flight until they came home, so the connection neither moves nor writes
// meanwhile, and a late answer to a closed connection is dropped.
#pragma once

#include <span>

#include "protocol/get_lines.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/core/store_task.hpp"
#include "server/store/point/read_offers.hpp"

namespace mxkv::server {

class OfferedReads final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "offered reads";

  /// Offers some of the reads that start together to other workers. Returns how many are left, at the front.
  [[nodiscard]] static std::size_t offer(runtime::Worker& worker, ItemTree& tree,
                                         std::span<const protocol::AskedKey> keys, const ReplyAddress& first,
                                         const ReadOfferOptions& options);

  runtime::step execute(runtime::Worker& worker);
  void discard(runtime::Worker& worker) noexcept;

 private:
  friend class runtime::Worker;  // makes it
  OfferedReads(const runtime::TaskClass* task_class, ItemTree& tree, const ReplyAddress& first,
               ConnectionTable& home, Segment& block, std::span<const protocol::AskedKey> keys);

  [[nodiscard]] protocol::AskedKey* reads() const noexcept {
    return reinterpret_cast<protocol::AskedKey*>(block_->data());
  }
  void read(runtime::Worker& worker);
  void answer(runtime::Worker& worker);
  void start_rest(runtime::Worker& worker);

  ItemTree* tree_;
  ConnectionTable* home_;  ///< used only at home
  ReplyAddress first_;
  Segment* block_;              ///< home's: reads, keys, replies
  char* replies_;               ///< where the replies begin
  std::size_t bytes_ = 0;       ///< of the replies
  std::uint16_t count_;         ///< of reads
  std::uint16_t answered_ = 0;  ///< reads, from the first on
  bool taken_ = false;          ///< by another worker
  bool ended_ = false;
};

static_assert(sizeof(OfferedReads) <= 128);

}  // namespace mxkv::server
