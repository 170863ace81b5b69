// mb as a session sees it: a batch that receives its lines one by one.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/point_request.hpp"

namespace mxkv::runtime {
class Worker;
}

namespace mxkv::server {

class ItemBuilder;
class ReplyQueue;

/// mb: receives the lines of a batch. Thread-safety: owner worker only.
class ReceivedBatch {
 public:
  ReceivedBatch() = default;
  virtual ~ReceivedBatch() = default;
  ReceivedBatch(const ReceivedBatch&) = delete;
  ReceivedBatch& operator=(const ReceivedBatch&) = delete;

  /// Lines that have not come yet.
  [[nodiscard]] virtual std::uint32_t missing() const noexcept = 0;
  [[nodiscard]] virtual bool failed() const noexcept = 0;
  /// Adds the next line: mg, md, ma, or ms, whose `value` was received whole.
  virtual void add(runtime::Worker& worker, const protocol::PointRequest& request, ItemBuilder* value) = 0;
  /// Fails the next line with `text`. The first failure counts, and the lines kept so far are freed.
  virtual void fail(runtime::Worker& worker, std::string_view text) = 0;
  /// Gives back all memory. Needed before destruction, unless the store has taken the batch.
  virtual void abandon(runtime::Worker& worker) noexcept = 0;
  /// Writes the reply to a batch that failed before the store got it.
  virtual void answer(ReplyQueue* queue, std::uint32_t ticket, runtime::Worker& worker) = 0;
};

}  // namespace mxkv::server
