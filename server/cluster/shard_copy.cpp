#include "server/cluster/shard_copy.hpp"

#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>

#include "server/durability/range_operations.hpp"
#include "server/store/item/expiry.hpp"

namespace mxkv::server {
namespace {

/// The record as an operation on a range; nothing: it is of one key, or has no effect in a cluster.
std::optional<RangeOperation> range_of(const Record& record) {
  return std::visit(
      [](const auto& one) -> std::optional<RangeOperation> {
        using R = std::remove_cvref_t<decltype(one)>;
        if constexpr (std::is_same_v<R, RangeGoneRecord>) {
          return RangeOperation{.bounds = one.bounds, .order = one.order};
        } else if constexpr (std::is_same_v<R, RangeTouchRecord>) {
          return RangeOperation{.bounds = one.bounds,
                                .order = one.order,
                                .touches = true,
                                .expiry = one.expiry,
                                .moment_us = one.moment_us};
        } else if constexpr (std::is_same_v<R, FlushRecord>) {
          return RangeOperation{.bounds = {.has_no_end = true}, .order = one.order};
        } else {
          return std::nullopt;
        }
      },
      record);
}

}  // namespace

CopiedItem* CopiedItems::older(std::string_view key, std::uint64_t order) {
  const auto found = items_.find(key);
  return found != items_.end() && found->second.order <= order ? &found->second : nullptr;
}

void CopiedItems::apply(const BodyEntry& entry) {
  if (const auto* const put = std::get_if<PutRecord>(&entry.record)) {
    CopiedItem& item = items_[std::string{put->key}];
    if (item.order <= put->order) {
      item = {.value = std::string{put->apart_bytes != 0 ? entry.apart : put->value},
              .order = put->order,
              .cas = put->has_cas ? put->cas : put->order,
              .flags = put->flags,
              .expiry = put->expiry};
    }
  } else if (const auto* const gone = std::get_if<GoneRecord>(&entry.record)) {
    if (older(gone->key, gone->order) != nullptr) {
      items_.erase(items_.find(gone->key));
    }
  } else if (const auto* const touch = std::get_if<TouchRecord>(&entry.record)) {
    if (CopiedItem* const item = older(touch->key, touch->order)) {
      item->expiry = touch->expiry;
    }
  } else if (const std::optional<RangeOperation> range = range_of(entry.record)) {
    for (auto at = items_.lower_bound(range->bounds.from);
         at != items_.end() && !range->ends_before(at->first);) {
      CopiedItem& item = at->second;
      const bool meant = !range->begins_after(at->first) && item.order <= range->order;
      if (meant && range->touches && !is_expired(item.expiry, range->moment_us)) {
        item.expiry = range->expiry;
      }
      at = meant && !range->touches ? items_.erase(at) : std::next(at);
    }
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
    return broken("its log holds a record that no owner writes");
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
