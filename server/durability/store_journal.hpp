// Writes the changes that pass the store's commit point into the journal's buffers. Only here changes of
// items become records.
//
// An expired item gets no record: it expires wherever its put is read. An evicted one does: a client may have
// learned since that it is absent. Items expire by the steady time; only a journal on disk records that time
// as it is.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "index/commit_point.hpp"
#include "runtime/base/cache_line.hpp"
#include "server/commit/record_buffer.hpp"
#include "server/durability/item_record.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// Thread-safety: as CommitListener: any worker, each into its own buffer.
class StoreJournal final : public index::CommitListener<std::string_view> {
 public:
  /// `buffers`: by worker; they outlive this. Each buffer's context is its worker.
  StoreJournal(std::vector<RecordBuffer*> buffers, record_times times);

  void passed(const index::Commit<std::string_view>& commit, runtime::Worker& worker) noexcept override;
  void group_begins(runtime::Worker& worker) noexcept override { buffer(worker).begin_group(); }
  void group_ends(runtime::Worker& worker) noexcept override { buffer(worker).end_group(); }

 private:
  /// A worker's state. Alone in its cache lines, since each write uses it.
  struct alignas(2 * runtime::kCacheLineBytes) Desk {
    RecordBuffer* buffer = nullptr;
    std::uint64_t asked_ns = 0;     ///< the round in which the clock was read
    std::int64_t wall_ahead_s = 0;  ///< read in that round
    bool by_wall = false;
  };

  [[nodiscard]] Desk& desk(runtime::Worker& worker) noexcept;
  [[nodiscard]] RecordBuffer& buffer(runtime::Worker& worker) noexcept { return *desk(worker).buffer; }
  [[nodiscard]] static std::uint32_t as_recorded(std::uint32_t expiry, Desk& desk,
                                                 runtime::Worker& worker) noexcept;
  [[gnu::noinline]] static void passed_rarely(const index::Commit<std::string_view>& commit, Desk& desk,
                                              runtime::Worker& worker) noexcept;
  static void put(const Item& item, Desk& desk, runtime::Worker& worker) noexcept;
  static void range(const index::Commit<std::string_view>& commit, Desk& desk,
                    runtime::Worker& worker) noexcept;

  std::vector<Desk> desks_;
};

}  // namespace mxkv::server
