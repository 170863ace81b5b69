// What sessions need of a store: the interface between server/net and server/store.
//
// Every operation ends in exactly one ConnectionTable::finished (or finished_write) for its address and, if
// the client waits, in one closed reply, maybe before the call returns.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "protocol/get_lines.hpp"
#include "protocol/point_request.hpp"
#include "protocol/set_lines.hpp"
#include "server/reply/reply_address.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/store/upkeep/shortage.hpp"

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class DumpProgress;
class Item;
class ItemBuilder;

/// mb: the lines of a batch as they come. Thread-safety: owner worker only.
class ReceivedBatch {
 public:
  ReceivedBatch() = default;
  virtual ~ReceivedBatch() = default;
  ReceivedBatch(const ReceivedBatch&) = delete;
  ReceivedBatch& operator=(const ReceivedBatch&) = delete;

  /// Lines that have not come yet.
  [[nodiscard]] virtual std::uint32_t missing() const noexcept = 0;
  [[nodiscard]] virtual bool failed() const noexcept = 0;
  /// The next line: mg, md, ma, or ms, whose `value` was received whole.
  virtual void add(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value) = 0;
  /// The next line cannot be done: `text` says why. Of several the first counts. What was kept goes.
  virtual void fail(runtime::Worker& worker, std::string_view text) = 0;
  /// Gives back all memory. Before it is destroyed, unless the store has taken it.
  virtual void abandon(runtime::Worker& worker) noexcept = 0;
  /// Writes the reply to a batch that failed before it was given to the store.
  virtual void answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker) = 0;
};

/// Thread-safety: the worker that is passed, which is the address's home.
class SessionStore {
 public:
  SessionStore() = default;
  SessionStore(const SessionStore&) = delete;
  SessionStore& operator=(const SessionStore&) = delete;

  /// A request for one key. `value`: of a command that stores, received whole; it is taken. `seq`: the place of
  /// one that is ordered among its connection's writes.
  virtual void point(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value,
                     const ReplyAddress& address, CommitSeq seq) = 0;
  /// get or gets, or mg, of many keys, each of which is an operation with a reply. `first`: of the first one; the
  /// tickets of the others follow.
  virtual void get(runtime::Worker& worker, std::span<const protocol::AskedKey> keys, bool with_cas,
                   const ReplyAddress& first) = 0;
  /// set or ms of values that came whole, each of which is a write with a reply. `first`, `seq`: of the first one;
  /// those of the others follow. Returns for how many there was memory; nothing was done with the others.
  [[nodiscard]] virtual std::size_t set(runtime::Worker& worker, std::span<const protocol::SentValue> values,
                                        const ReplyAddress& first, CommitSeq seq) = 0;
  /// scan, scans, pscan, pscans, mr, mc, mx, mt.
  virtual void range(runtime::Worker& worker, const protocol::Request& request,
                     const ReplyAddress& address) = 0;
  /// mb, of so many lines.
  [[nodiscard]] virtual std::unique_ptr<ReceivedBatch> begin_batch(std::uint32_t lines) = 0;
  /// Runs what begin_batch() made, once all of its lines came.
  virtual void batch(runtime::Worker& worker, std::unique_ptr<ReceivedBatch> batch,
                     const ReplyAddress& address) = 0;
  /// A page of a dump, behind what `progress` says; it is told when the page ended.
  virtual void dump(runtime::Worker& worker, DumpProgress& progress, const ReplyAddress& address) = 0;
  /// flush_all, now or `delay_s` seconds from now (above 30 days: at that unix time). `form`: of a
  /// client of the binary protocol. False: it was refused, and answered so.
  virtual bool flush_all(runtime::Worker& worker, std::int64_t delay_s, const ReplyAddress& address,
                         protocol::BinaryForm form) = 0;

  /// A request for this key is one of the sample.
  virtual void sampled(runtime::Worker& worker, std::string_view key) = 0;
  /// Counts a value that was refused for its length before it came.
  virtual void count_too_large(runtime::Worker& worker) noexcept = 0;
  /// Counts a value that there was no memory for while it came.
  virtual void count_no_memory(runtime::Worker& worker) noexcept = 0;
  /// Memory was refused to something of this worker's. True: room is being made, and it is worth to try again
  /// in the next round.
  [[nodiscard]] virtual bool makes_room(runtime::Worker& worker, shortage what) noexcept = 0;

 protected:
  ~SessionStore() = default;
};

}  // namespace mxkv::server
