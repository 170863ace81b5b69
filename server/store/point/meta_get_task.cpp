#include "server/store/point/meta_get_task.hpp"

#include "server/store/core/visibility.hpp"
#include "server/store/point/owner_reads.hpp"
#include "server/store/point/point_decisions.hpp"
#include "server/store/upkeep/background_writes.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

using runtime::step;

step MetaGetTask::on_found(std::uint64_t value, runtime::Worker& worker) {
  MXKV_DCHECK(request_.is_meta() && request_.only_reads(), "what changes an item is a WriteTask's");
  auto& context = worker.local<WorkerContext>();
  Item& item = *ItemRecord::item(value);
  if (const Liveness live{worker}; !live(Item::View{item})) {
    context.counters.count(live.is_flushed(Item::View{item}) ? counter::get_flushed : counter::get_expired);
    const Seen seen = saw(&item, *this, context);
    start_expiry(worker, value);
    return missed(seen, worker);
  }
  if (context.replies->waits_for_room(address_)) [[unlikely]] {
    worker.repin(*this);
    static_cast<void>(restart(false));
    return step::later;
  }
  const bool renews = !inspects() && grants_recache(item, flags_, Moment{worker});
  // Only the item's owner may tell a client to renew it.
  if (renews && context.owner_reads != nullptr && context.owner_reads->take_read(worker, request_, address_))
      [[unlikely]] {
    worker.unpin(*this);
    return step::done;
  }
  MetaFindings findings = findings_of(item);
  if (!flags_.no_bump && !inspects()) {
    item.note_access(worker.now_us());  // at once, so that the next reader sees it
  }
  if (renews) {
    if (ConnectionTable::is_behind(address_)) {
      // Of several requests in one pipeline the first wins.
      waits_ = true;
      waited_for_ = findings.order;
      last_access_us_ = findings.last_access_us;
      accessed_ = findings.accessed;
      worker.repin(*this);
      static_cast<void>(restart(false));
      return step::later;
    }
    // Only one client may win: the WriteTask decides under the leaf's latch.
    WriteTask* const write = WriteTask::create(worker, tree(), request_, nullptr, address_, 0);
    write->set_findings(findings);
    write->start(worker);
    worker.unpin(*this);
    return step::done;
  }
  findings.sent = item.marked(Item::kWon);  // another client may have won it since
  context.counters.count(counter::get_hits);
  if (context.watch->wants(watched::kFetchers)) [[unlikely]] {
    context.watch->fetched(worker, key(), true, item.value_bytes(), descriptor_of(address_));
  }
  if (ReplyQueue* queue = context.replies->find(address_, saw(&item, *this, context))) {
    if (inspects()) {
      write_meta_debug(*queue, address_.ticket, item, worker);
      context.replies->show(address_,
                            saw(&item, *this, context));  // a touch may have changed its time meanwhile
    } else {
      write_meta_reply(
          *queue, address_.ticket,
          {.request = request_, .result = point_result::value, .shown = &item, .findings = &findings},
          worker);
    }
    queue->close(address_.ticket);
  }
  return ended(worker);
}

MetaFindings MetaGetTask::findings_of(const Item& item) const noexcept {
  MetaFindings findings = MetaFindings::of(item);
  if (waits_ && findings.order == waited_for_) {
    findings.last_access_us = last_access_us_;
    findings.accessed = accessed_;
  }
  return findings;
}

step MetaGetTask::on_missing(runtime::Worker& worker) {
  return missed(saw(nullptr, *this, worker.local<WorkerContext>()), worker);
}

step MetaGetTask::missed(Seen seen, runtime::Worker& worker) {
  auto& context = worker.local<WorkerContext>();
  context.counters.count(counter::get_misses);
  context.watch->fetched(worker, key(), false, 0, descriptor_of(address_));
  if (ReplyQueue* queue = context.replies->find(address_, seen)) {
    if (inspects()) {
      queue->append(address_.ticket, protocol::kMetaMiss);
    } else {
      write_meta_reply(*queue, address_.ticket, {.request = request_, .result = point_result::not_found},
                       worker);
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

MXKV_TASK_CLASS(, mxkv::server::MetaGetTask);
