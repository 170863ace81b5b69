// Reads of one pipeline, in a row, that any worker of the group may do: an immediate task [LAS 4.1].
//
//   home    keys into a block of its own replies ──> immediate queue: the owner takes the youngest, others the oldest
//   taker   a look-up of each key, all in flight; when all ended, the replies into the block, in order
//   home    the block into the connection's queue, as it is
//
// What waits to be taken holds keys, what comes home holds bytes: so only the taker pins, for all that it found until
// that was written. Whatever is not usual ends the row: what is behind it is read anew at home, as any get is. The
// connection knows of none of this. Its reads are in flight until they came home, so it neither moves nor writes
// meanwhile, and a late answer to a closed one is dropped.
#pragma once

#include <span>

#include "protocol/get_lines.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/point/read_offers.hpp"
#include "server/store/store_task.hpp"

namespace mxkv::server {

class OfferedReads final : public runtime::MxTask {
 public:
  static constexpr const char* kName = "offered reads";

  /// Of reads that are started together, offers those that others should do. Returns how many are left, at the front.
  [[nodiscard]] static std::size_t offer(runtime::Worker& worker, ItemTree& tree,
                                         std::span<const protocol::AskedKey> keys, const ReplyAddress& first,
                                         const ReadOfferOptions& options);

  runtime::step execute(runtime::Worker& worker);
  void discard(runtime::Worker& worker) noexcept;

 private:
  /// One of them, in the block.
  struct Read {
    const char* key;
    std::uint64_t found;  ///< the item's word; 0: missed
    std::uint8_t key_bytes;
    protocol::asked how;
  };
  class Get;

  friend class runtime::Worker;  // makes it
  OfferedReads(const runtime::TaskClass* task_class, ItemTree& tree, const ReplyAddress& first,
               ConnectionTable& home, Segment& block, std::span<const protocol::AskedKey> keys);

  [[nodiscard]] Read* reads() const noexcept { return reinterpret_cast<Read*>(block_->data()); }
  void start(runtime::Worker& worker);
  void one_ended(runtime::Worker& worker);
  void write(runtime::Worker& worker);
  [[nodiscard]] char* write_one(char* out, const Read& read, runtime::Worker& worker, const Liveness& live);
  void answer(runtime::Worker& worker);
  void start_rest(runtime::Worker& worker);

  ItemTree* tree_;
  ConnectionTable* home_;  ///< touched there alone
  ReplyAddress first_;
  Segment* block_;         ///< of home's: reads, keys, replies
  char* replies_;          ///< where they begin
  std::size_t bytes_ = 0;  ///< of these
  std::uint16_t count_;    ///< of reads
  std::uint16_t under_way_ = 0;
  std::uint16_t answered_ = 0;  ///< from the first on
  bool taken_ = false;          ///< by another worker
  bool ended_ = false;
};

static_assert(sizeof(OfferedReads) <= 128);

}  // namespace mxkv::server
