#include "server/store/point/meta_get_task.hpp"

#include "server/store/point/meta_decisions.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

using protocol::meta_code;
using runtime::step;

step MetaGetTask::on_found(std::uint64_t value, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  Item& item = *ItemRecord::item(value);
  if (!is_live(item, worker)) {
    context.counters.count(counter::get_expired);
    start_expiry(worker, value);
    return on_missing(worker);
  }
  if (ReplyQueue* const queue = context.replies->find(address_);
      queue != nullptr && context.replies->waits_for_room(*queue, address_.ticket)) [[unlikely]] {
    worker.repin(*this);
    static_cast<void>(restart(false));
    return step::later;
  }
  MetaFindings findings = findings_of(item);
  if (!flags_.no_bump && !debug_) {
    item.note_access(worker.now_us());  // at once: who reads the item next sees it
  }
  if (!debug_ && grants_recache(item, flags_, Moment{worker})) {
    if (ReplyQueue* queue = context.replies->find(address_);
        queue != nullptr && !queue->is_oldest(address_.ticket)) {
      // Of several in one pipeline the first wins.
      waits_ = true;
      waited_for_ = findings.cas;
      last_access_us_ = findings.last_access_us;
      accessed_ = findings.accessed;
      worker.repin(*this);
      static_cast<void>(restart(false));
      return step::later;
    }
    // One client alone may win: under the leaf's latch.
    const WriteRequest request{.op = protocol::verb::meta_get, .in_order = false};
    WriteTask* const write = create_meta_write(worker, tree(), key(), flags_, request, address_);
    write->set_findings(findings);
    write->begin(worker);
    worker.unpin(*this);
    return step::done;
  }
  findings.sent = item.marked(Item::kWon);  // somebody may have won it since
  context.counters.count(counter::cmd_get);
  context.counters.count(counter::get_hits);
  context.watch->fetched(worker, key(), true, item.value_bytes());
  if (ReplyQueue* queue = context.replies->find(address_)) {
    if (debug_) {
      write_meta_debug(*queue, address_.ticket, item, worker);
    } else {
      write_meta(*queue, address_.ticket, answer_of_get(item, flags_), flags_, findings, worker);
    }
    queue->close(address_.ticket);
  }
  return ended(worker);
}

MetaFindings MetaGetTask::findings_of(const Item& item) const noexcept {
  MetaFindings findings = MetaFindings::of(item);
  if (waits_ && findings.cas == waited_for_) {
    findings.last_access_us = last_access_us_;
    findings.accessed = accessed_;
  }
  return findings;
}

step MetaGetTask::on_missing(runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  context.counters.count(counter::cmd_get);
  context.counters.count(counter::get_misses);
  context.watch->fetched(worker, key(), false, 0);
  if (ReplyQueue* queue = context.replies->find(address_)) {
    if (debug_) {
      queue->append(address_.ticket, protocol::kMetaMiss);
    } else if (!flags_.quiet) {
      write_meta(*queue, address_.ticket, answer_of_miss(meta_code::miss, key(), flags_), flags_, {}, worker);
    }
    queue->close(address_.ticket);
  }
  return ended(worker);
}

step MetaGetTask::ended(runtime::Worker& worker) {
  worker.unpin(*this);
  worker.local<WorkerContext>().replies->finished(address_);
  return step::done;
}

}  // namespace mxkv::server
