#include "tests/simulation/feed_ledger.hpp"

#include "server/store/core/store_task.hpp"

namespace mxkv::simulation {

using index::cause;
using index::change;
using server::ItemRecord;

namespace {

server::KeySpan span_of(const index::ChangedRange<std::string_view>& range) {
  server::RecordBounds bounds{.from = range.from, .to = range.to, .from_is_open = range.skips_from};
  switch (range.far) {
    case index::far_end::none:
      bounds.has_no_end = true;
      break;
    case index::far_end::inclusive:
      break;
    case index::far_end::exclusive:
      bounds.to_is_open = true;
      break;
    case index::far_end::prefix: {
      server::KeySpan span = server::span_of(bounds);
      const server::KeySpan of_prefix = server::span_of_prefix(range.to);
      span.high = of_prefix.high;
      span.endless = of_prefix.endless;
      return span;
    }
  }
  return server::span_of(bounds);
}

}  // namespace

FeedEvent FeedLedger::event_of(const index::Commit<std::string_view>& commit) {
  FeedEvent event{.order = commit.change.order, .key = std::string{commit.key}};
  switch (commit.change.what) {
    case change::put:
      event.kind = server::told::kPut;
      event.cas = ItemRecord::item(commit.value)->cas();
      break;
    case change::gone:
      event.kind = commit.change.why == cause::expired   ? server::told::kExpired
                   : commit.change.why == cause::evicted ? server::told::kEvicted
                                                         : server::told::kDeleted;
      break;
    case change::touched:
      event.kind = server::told::kTouched;
      break;
    case change::range_gone:
    case change::range_touched:
      event.kind = commit.change.what == change::range_gone ? server::told::kDeleted : server::told::kTouched;
      event.key.clear();
      event.span = span_of(*commit.range);
      break;
    case change::flushed:
      event.kind = server::told::kDeleted;
      event.key.clear();
      break;
    case change::part:
    case change::unseen:
      break;
  }
  return event;
}

void FeedLedger::passed(const index::Commit<std::string_view>& commit, runtime::Worker& worker) noexcept {
  FeedEvent event = event_of(commit);
  if (epochs_ != nullptr && event.kind != 0 && event.kind != server::told::kExpired) {
    event.label = group_ != nullptr ? group_label_ : epochs_->current();
    event.batch = group_ != nullptr ? batches_ : 0;
    events_.push_back(std::move(event));
  }
  if (group_ != nullptr) {
    group_->pass(commit);
  } else {
    relay_.pass(commit, worker);
  }
}

void FeedLedger::group_begins(runtime::Worker& worker) noexcept {
  ++batches_;
  group_label_ = epochs_ != nullptr ? epochs_->current() : 0;
  group_.reset(new index::CommitGroup<std::string_view>(relay_.group(worker)));
}

void FeedLedger::group_ends(runtime::Worker& /*worker*/) noexcept {
  group_.reset();
}

}  // namespace mxkv::simulation
