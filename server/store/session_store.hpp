// The interface between server/net and server/store: the functions of a store that sessions use.
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
#include "server/store/batch/received_batch.hpp"
#include "server/store/upkeep/shortage.hpp"

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class DumpProgress;
class ItemBuilder;

/// Thread-safety: the worker that is passed, which is the address's home.
class SessionStore {
 public:
  SessionStore() = default;
  SessionStore(const SessionStore&) = delete;
  SessionStore& operator=(const SessionStore&) = delete;

  /// A request for one key. `value`: of a command that stores, received whole; the store takes it. `seq`: the
  /// place of an ordered request among its connection's writes.
  virtual void point(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value,
                     const ReplyAddress& address, CommitSeq seq) = 0;
  /// get or gets, or mg, of many keys. Each key is an operation with a reply. `first`: the address of the
  /// first; the others have the tickets after it.
  virtual void get(runtime::Worker& worker, std::span<const protocol::AskedKey> keys, bool with_cas,
                   const ReplyAddress& first) = 0;
  /// set or ms of values that were received whole. Each value is a write with a reply. `first`, `seq`: of the
  /// first write; the others have the numbers after these. Returns how many values got memory; nothing was
  /// done with the rest.
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
  /// A page of a dump, from where `progress` stands; calls progress.end_page() when the page has ended.
  virtual void dump(runtime::Worker& worker, DumpProgress& progress, const ReplyAddress& address) = 0;
  /// flush_all, now or `delay_s` seconds from now (above 30 days: at that unix time). `form`: of a client of
  /// the binary protocol. False: the flush was refused, and the refusal was sent.
  virtual bool flush_all(runtime::Worker& worker, std::int64_t delay_s, const ReplyAddress& address,
                         protocol::BinaryForm form) = 0;

  /// A request for `key` is sampled: counts the NUMA nodes of the memory that a look-up of it reads. `gets`: it reads the
  /// item, so the key's quota counts a hit or a miss.
  virtual void sampled(runtime::Worker& worker, std::string_view key, bool gets) = 0;
  /// Counts a value that was refused for its length before it came.
  virtual void count_too_large(runtime::Worker& worker) noexcept = 0;
  /// Counts a value for which memory ran out while it was received.
  virtual void count_no_memory(runtime::Worker& worker) noexcept = 0;
  /// Some allocation of this worker failed. True: memory is being freed, so that a retry in the next round
  /// makes sense, with the same `wait`.
  [[nodiscard]] virtual bool makes_room(runtime::Worker& worker, shortage what, RoomWait& wait) noexcept = 0;

 protected:
  ~SessionStore() = default;
};

}  // namespace mxkv::server
