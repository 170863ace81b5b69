#include "server/cluster/cluster_batch.hpp"

#include <utility>

#include "runtime/base/assert.hpp"
#include "server/cluster/refusal.hpp"
#include "server/cluster/value_text.hpp"
#include "server/store/batch/batch.hpp"

namespace mxkv::server {

ClusterBatch::ClusterBatch(const Routes& routes, const runtime::Clock& clock,
                           std::unique_ptr<ReceivedBatch> own, std::uint32_t lines)
    : routes_(routes),
      clock_(clock),
      own_(std::move(own)),
      lines_(lines),
      text_("mb " + std::to_string(lines) + "\r\n") {}

void ClusterBatch::add(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value) {
  MXKV_ASSERT(missing() > 0 && !failed(), "a batch has as many lines as it announced");
  const std::uint32_t shard = routes_.shard_of(request.key);
  if (!shard_) {
    elsewhere_ = !routes_.is_here(shard, clock_.monotonic_ns());
    shard_ = shard;
  } else if (shard != *shard_) {
    failure_ = spans_line("batch", *shard_, shard, kOneShardEach);
    if (value != nullptr) {
      value->abandon(worker);
    }
    ++come_;
    abandon(worker);
    return;
  }
  ++come_;
  if (!elsewhere_) {
    own_->add(worker, request, value);
  } else {
    add_text(request, value == nullptr ? nullptr : value->take());
  }
}

void ClusterBatch::add_text(const protocol::PointRequest& request, Item* item) {
  if (item == nullptr) {
    protocol::write_point_line(text_, request);
    return;
  }
  write_storing_line(text_, request, *item);
  values_.push_back({text_.size(), item});
}

void ClusterBatch::leave(runtime::Worker& worker) {
  MXKV_ASSERT(!elsewhere_ && !failed(), "what was here leaves");
  static_cast<Batch&>(*own_).give_lines(
      worker, [this](const protocol::PointRequest& request, Item* item) { add_text(request, item); });
  elsewhere_ = true;
}

std::string ClusterBatch::take_text(runtime::Worker& worker) {
  std::string text;
  std::size_t taken = 0;
  for (const Value& value : values_) {
    MXKV_ASSERT(value.behind >= taken, "values stand in the order of their lines");
    text.append(text_, taken, value.behind - taken);
    taken = value.behind;
    write_value(text, value.item, worker);
  }
  values_.clear();
  return text.append(text_, taken);
}

void ClusterBatch::fail(runtime::Worker& worker, std::string_view text) {
  MXKV_ASSERT(missing() > 0, "a batch has as many lines as it announced");
  ++come_;
  if (elsewhere_ && failure_.empty()) {
    failure_ = "EX " + std::to_string(come_) + " " + std::string{text.substr(0, text.find('\r'))} + "\r\n";
    abandon(worker);
  } else if (failure_.empty()) {
    own_->fail(worker, text);
  }
}

void ClusterBatch::abandon(runtime::Worker& worker) noexcept {
  own_->abandon(worker);
  for (const Value& value : values_) {
    Item::destroy(worker, value.item);
  }
  values_.clear();
  text_ = {};
}

void ClusterBatch::answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker) {
  if (failure_.empty()) {
    own_->answer(queue, ticket, worker);
  } else if (queue != nullptr) {
    queue->append(ticket, failure_);
  }
}

}  // namespace mxkv::server
