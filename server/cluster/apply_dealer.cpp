#include "server/cluster/apply_dealer.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

#include "index/key.hpp"
#include "server/cluster/record_body.hpp"
#include "server/cluster/routes.hpp"

namespace mxkv::server {

namespace {

bool is_item_key(std::string_view key) noexcept {
  return !key.empty() && key.size() <= index::kMaxKeyBytes;
}

}  // namespace

/// False: no owner writes such a record.
struct ApplyDealer::Visitor {
  ApplyDealer& dealer;
  const char* at;

  bool operator()(const PutRecord& put) const { return dealer.deal_key(put.order, put.key, at); }
  bool operator()(const GoneRecord& gone) const {
    dealer.only_puts_ = false;
    return dealer.deal_key(gone.order, gone.key, at);
  }
  bool operator()(const TouchRecord& touch) const {
    dealer.only_puts_ = false;
    return dealer.deal_key(touch.order, touch.key, at);
  }
  bool operator()(const FlushAtRecord& /*flush*/) const {
    ++dealer.ignored_;
    return true;
  }
  template <class R>
  bool operator()(const R& of_range) const {
    return dealer.deal_range(range_operation_of(of_range), at);
  }
};

const char* ApplyDealer::deal(std::string_view records) {
  bytes_ = std::make_shared<const std::string>(records);
  RecordBodyReader reader{*bytes_};
  for (const char* at = bytes_->data(); const auto entry = reader.next();
       at = bytes_->data() + reader.position()) {
    if (!std::visit(Visitor{*this, at}, entry->record)) {
      return "a record of a type that owners never write";
    }
  }
  if (reader.wrong() != nullptr) {
    return reader.wrong();
  }
  if (!only_puts_) {
    std::sort(dealt_.begin(), dealt_.end(), [](const Dealt& a, const Dealt& b) {
      return std::tie(a.order, a.at) < std::tie(b.order, b.at);
    });
  }
  for (const Dealt& dealt : dealt_) {
    add(dealt);
  }
  return nullptr;
}

bool ApplyDealer::deal_key(std::uint64_t order, std::string_view key, const char* at) {
  // Uses other bits of the hash than those by which a lane distinguishes keys.
  MXKV_ASSERT(lanes_ > 0, "records are applied by workers");
  const std::size_t hash = std::hash<std::string_view>{}(key) >> 20U;
  dealt_.push_back({order, at, static_cast<std::uint32_t>(hash % lanes_), false});
  return order != 0 && is_item_key(key);
}

bool ApplyDealer::deal_range(RangeOperation what, const char* at) {
  only_puts_ = false;
  if (routes_ != nullptr) {
    what.bounds = kept_within(what.bounds, routes_->begin_of(shard_), routes_->end_of(shard_));
  }
  dealt_.push_back({what.change.order, at, static_cast<std::uint32_t>(ranges_.size()), true});
  ranges_.push_back(what);
  return what.change.order != 0 && what.bounds.from.size() <= index::kMaxKeyBytes &&
         what.bounds.to.size() <= index::kMaxKeyBytes;
}

ApplyStage& ApplyDealer::new_stage() {
  ApplyStage& stage = *stages_.emplace_back(std::make_unique<ApplyStage>());
  stage.bytes = bytes_;
  stage.shard = shard_;
  return stage;
}

void ApplyDealer::add(const Dealt& dealt) {
  if (dealt.is_range) {
    MXKV_ASSERT(stages_.empty() || stages_.back()->greatest_order <= dealt.order,
                "a range comes behind all changes before it");
    new_stage().range = ApplyRange{.what = ranges_[dealt.number]};
  } else {
    if (stages_.empty() || stages_.back()->range.has_value()) {
      new_stage().entries.resize(lanes_);
    }
    stages_.back()->entries[dealt.number].push_back(dealt.at);
  }
  std::uint64_t& greatest = stages_.back()->greatest_order;
  greatest = std::max(greatest, dealt.order);
}

}  // namespace mxkv::server
