// Writes what passes the store's commit point into the journal's buffers: the one place where changes of items
// become records.
//
// An expired item is no record's business: it goes by itself wherever its put is read. An evicted one is: a
// client may have been told since that there is none.
#pragma once

#include <string_view>
#include <vector>

#include "index/commit_point.hpp"
#include "server/journal/journal_buffer.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// Thread-safety: as CommitListener: any worker, each into its own buffer.
class StoreJournal final : public index::CommitListener<std::string_view> {
 public:
  /// `buffers` by worker; they outlive this. Their context is the worker.
  explicit StoreJournal(std::vector<JournalBuffer*> buffers) noexcept : buffers_(std::move(buffers)) {}

  void passed(const index::Commit<std::string_view>& commit, runtime::Worker& worker) noexcept override;
  void group_begins(runtime::Worker& worker) noexcept override { buffer(worker).begin_group(); }
  void group_ends(runtime::Worker& worker) noexcept override { buffer(worker).end_group(); }

  /// What a put's record says of an item with such a value; one that is apart is the caller's to add.
  [[nodiscard]] static PutRecord record_of(const Item& item) noexcept;
  /// The value of a large item, with a reference of its own; release() of its class wants a worker.
  [[nodiscard]] static ApartValue apart_of(const Item& item) noexcept;

 private:
  [[nodiscard]] JournalBuffer& buffer(runtime::Worker& worker) noexcept;
  static void put(const Item& item, JournalBuffer& buffer) noexcept;
  static void range(const index::Commit<std::string_view>& commit, JournalBuffer& buffer) noexcept;

  std::vector<JournalBuffer*> buffers_;
};

}  // namespace mxkv::server
