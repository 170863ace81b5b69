// Values and batches that a fake store received from a session: plain text; their memory is given back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/point_request.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/store/item/item.hpp"
#include "server/store/item/item_builder.hpp"
#include "server/store/session_store.hpp"

namespace mxkv::server::test {

/// A complete value, which owns its memory until release().
struct FakeValue {
  explicit FakeValue(ItemBuilder& builder) : FakeValue(builder.request(), builder) {}
  FakeValue(Item& whole, bool meta)
      : op(meta ? protocol::verb::meta_set : protocol::verb::set), item(&whole) {}
  FakeValue(const protocol::PointRequest& request, ItemBuilder& builder)
      : op(request.op),
        opaque(request.is_meta() ? request.flags->opaque() : std::string_view{}),
        item(builder.take()) {}

  [[nodiscard]] std::string name() const { return std::string{item->key()}; }
  [[nodiscard]] std::string text() const {
    if (!item->large()) {
      return std::string{item->value()};
    }
    std::string whole;
    for (const Chunk* const chunk : item->list()->pieces()) {
      whole.append(chunk->data(), chunk->bytes);
    }
    return whole;
  }
  void release(runtime::Worker& worker) { Item::destroy(worker, std::exchange(item, nullptr)); }

  protocol::verb op;
  std::string opaque;  ///< the opaque of ms
  Item* item;
};

/// The lines of a batch, in a form that outlives the request.
class FakeBatch final : public ReceivedBatch {
 public:
  struct Line {
    protocol::verb op{};
    std::string name;
    std::string opaque;
    std::uint64_t delta = 0;
    std::string value;
  };
  explicit FakeBatch(std::uint32_t count) : missing_(count) {}

  [[nodiscard]] std::uint32_t missing() const noexcept override { return missing_; }
  [[nodiscard]] bool failed() const noexcept override { return !failure_.empty(); }
  void add(runtime::Worker& /*worker*/, const protocol::PointRequest& request, ItemBuilder* value) override {
    --missing_;
    Line& line = lines.emplace_back();
    line.op = request.op;
    line.name = request.key;
    line.opaque = request.flags->opaque();
    line.delta = request.delta;
    if (value != nullptr) {
      line.value = values_.emplace_back(*value).text();
    }
  }
  void fail(runtime::Worker& worker, std::string_view text) override {
    --missing_;
    ++failed_lines_;
    if (!failed()) {
      failure_ = "EX " + std::to_string(lines.size() + failed_lines_) + " " + std::string(text);
    }
    abandon(worker);
  }
  void abandon(runtime::Worker& worker) noexcept override {
    for (FakeValue& value : values_) {
      value.release(worker);
    }
    values_.clear();
    lines.clear();
  }
  void answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& /*worker*/) override {
    queue->append(ticket, failure_);
  }

  std::vector<Line> lines;

 private:
  std::uint32_t missing_;
  std::size_t failed_lines_ = 0;
  std::string failure_;
  std::vector<FakeValue> values_;
};

}  // namespace mxkv::server::test
