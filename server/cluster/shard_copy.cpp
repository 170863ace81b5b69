#include "server/cluster/shard_copy.hpp"

#include <iterator>
#include <utility>
#include <variant>

#include "runtime/base/assert.hpp"

namespace mxkv::server {
namespace {

RecordedItem found(const CopiedItem& item) noexcept {
  return {item.order, item.expiry};
}

CopiedItem copied(const PutRecord& put, std::string_view apart) {
  return {.value = std::string{put.apart_bytes != 0 ? apart : put.value},
          .order = put.order,
          .cas = put.has_cas ? put.cas : put.order,
          .flags = put.flags,
          .expiry = put.expiry};
}

}  // namespace

void CopiedItems::apply(const BodyEntry& entry) {
  std::visit(
      [&](const auto& record) {
        if constexpr (requires { record.key; }) {
          apply_to_key(record.key, change_of(record), entry);
        } else if constexpr (requires { range_operation_of(record); }) {
          apply_to_range(range_operation_of(record));
        }
      },
      entry.record);
}

void CopiedItems::apply_to_key(std::string_view key, const RecordedChange& change, const BodyEntry& entry) {
  const auto at = items_.find(key);
  switch (effect_of(change, at != items_.end() ? std::optional{found(at->second)} : std::nullopt)) {
    case record_effect::put:
      items_.insert_or_assign(std::string{key}, copied(std::get<PutRecord>(entry.record), entry.apart));
      break;
    case record_effect::erase:
      MXKV_ASSERT(at->second.order <= change.order, "the orders of a key never go back");
      items_.erase(at);
      break;
    case record_effect::expire:
      at->second.expiry = change.expiry;
      break;
    case record_effect::access:  // a copy has no access ages
    case record_effect::none:
      break;
  }
}

void CopiedItems::apply_to_range(const RangeOperation& range) {
  for (auto at = items_.lower_bound(range.bounds.from);
       at != items_.end() && !range.ends_before(at->first);) {
    const record_effect effect =
        range.begins_after(at->first) ? record_effect::none : effect_of(range.change, found(at->second));
    if (effect == record_effect::expire) {
      at->second.expiry = range.change.expiry;
    }
    at = effect == record_effect::erase ? items_.erase(at) : std::next(at);
  }
}

ShardCopy::ShardCopy(OrderedLog& log, OrderedLog& snapshots, const MessageScope& scope,
                     const std::optional<SnapshotEntry>& snapshot)
    : log_(log),
      start_(snapshot ? snapshot->start : ShardStart{}),
      end_(std::make_shared<std::optional<LogPosition>>()),
      asking_(std::make_shared<bool>(false)),
      feed_(
          scope, [this](const FedChange& change) { items_.apply(change.entry); }, start_.state),
      loader_(snapshots, scope, snapshot.value_or(SnapshotEntry{}),
              [this](std::string_view body) { take_snapshot_body(body); }) {
  ask_end();
}

ShardCopy::~ShardCopy() {
  log_.stop();
}

void ShardCopy::ask_end() {
  *asking_ = true;
  log_.end([end = end_, asking = asking_](std::optional<LogPosition> told) {
    *end = told;
    *asking = false;
  });
}

void ShardCopy::take_snapshot_body(std::string_view body) {
  RecordBodyReader reader{body};
  while (const std::optional<BodyEntry> entry = reader.next()) {
    items_.apply(*entry);
  }
  if (reader.wrong() != nullptr) {
    wrong_ = std::string{"its snapshot holds "} + reader.wrong();
  }
}

// The snapshot may be complete before the log's end is known: the log is read only when both are.
ShardCopy::state ShardCopy::step() {
  if (!wrong_.empty()) {
    return state::broken;
  }
  if (feed_.damaged() > 0) {
    return broken("its log has a record of a type that owners never write");
  }
  if (trimmed_ || loader_.now() == SnapshotLoader::state::failed) {
    return state::trimmed;
  }
  if (!end_->has_value()) {
    if (!*asking_) {
      ask_end();  // the brokers did not answer
    }
    return state::reading;
  }
  if (**end_ < start_.position) {
    return broken("its log ends at position " + std::to_string(**end_) + ", before its snapshot's, " +
                  std::to_string(start_.position) + ": these topics are copies with other offsets");
  }
  if (loader_.now() != SnapshotLoader::state::loaded) {
    return state::reading;
  }
  if (reached_ || **end_ == start_.position) {
    return state::whole;
  }
  if (!std::exchange(follows_, true)) {
    log_.read(start_.position, *this);
  }
  return state::reading;
}

void ShardCopy::message(LogPosition position, std::string_view bytes) {
  MXKV_ASSERT(end_->has_value(), "the log is read up to an end that is known");
  if (position < end()) {
    feed_.message(position, bytes);
  }
  if (position + 1 >= end()) {  // a hole may stand before it
    reached_ = true;
    log_.stop();
  }
}

std::uint64_t ShardCopy::progress() const noexcept {
  return loader_.taken() + feed_.messages() + (end_->has_value() ? 1U : 0U);
}

ShardCopy::state ShardCopy::broken(std::string why) {
  wrong_ = std::move(why);
  return state::broken;
}

}  // namespace mxkv::server
