// What tests of sessions have in place of a worker, of a value that is received, and of a batch.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/request.hpp"
#include "server/reply/reply_queue.hpp"

namespace mxkv::server::test {

struct FakeWorker {
  std::size_t live_builders = 0;
  std::size_t memory_left = ~std::size_t{0};
};

/// A value in a std::string; counts itself, so that a leak shows.
class FakeBuilder {
 public:
  static FakeBuilder begin(FakeWorker& worker, const protocol::Request& request) {
    ++worker.live_builders;
    FakeBuilder builder;
    builder.op = request.op;
    builder.name = request.key;
    builder.flags = request.flags;
    if (request.op == protocol::verb::meta_set) {
      builder.opaque = request.meta.opaque();
    }
    return builder;
  }
  std::size_t append(FakeWorker& worker, const char* data, std::size_t bytes) {
    const std::size_t taken = std::min(bytes, worker.memory_left);
    worker.memory_left -= taken;
    value.append(data, taken);
    return taken;
  }
  std::span<char> space(FakeWorker& /*worker*/) {
    return direct_room == 0 ? std::span<char>{} : std::span<char>{direct.data(), direct_room};
  }
  void advance(std::size_t bytes) { value.append(direct.data(), bytes); }
  void abandon(FakeWorker& worker) { --worker.live_builders; }
  [[nodiscard]] bool failed() const { return false; }

  static inline std::size_t direct_room = 0;  ///< bytes that space() offers
  protocol::verb op{};
  [[nodiscard]] std::string_view key() const { return name; }

  std::string name;
  std::uint32_t flags = 0;
  std::string value;
  std::string opaque;  ///< of ms
  std::array<char, 64> direct{};
};

/// Lines of a batch: what they bring, in a form that outlives the request.
class FakeBatch {
 public:
  struct Line {
    protocol::verb op{};
    std::string name;
    std::string opaque;
    std::uint64_t delta = 0;
    std::string value;
  };
  explicit FakeBatch(std::uint32_t count) : missing_(count) {}

  [[nodiscard]] std::uint32_t missing() const { return missing_; }
  [[nodiscard]] bool failed() const { return !failure_.empty(); }
  void add(FakeWorker& /*worker*/, const protocol::Request& request) {
    --missing_;
    lines.push_back(
        {request.op, std::string(request.key), std::string(request.meta.opaque()), request.meta.delta, {}});
  }
  void add(FakeWorker& /*worker*/, FakeBuilder&& builder) {
    --missing_;
    lines.push_back({builder.op, builder.name, builder.opaque, 0, builder.value});
    builders_.push_back(std::move(builder));
  }
  void fail(FakeWorker& worker, std::string_view text) {
    --missing_;
    ++failed_lines_;
    if (!failed()) {
      failure_ = "EX " + std::to_string(lines.size() + failed_lines_) + " " + std::string(text);
    }
    abandon(worker);
  }
  void abandon(FakeWorker& worker) {
    for (FakeBuilder& builder : builders_) {
      builder.abandon(worker);
    }
    builders_.clear();
    lines.clear();
  }
  void answer(ReplyQueue* queue, std::uint32_t ticket, FakeWorker& /*worker*/) const {
    queue->append(ticket, failure_);
  }

  std::vector<Line> lines;

 private:
  std::uint32_t missing_;
  std::size_t failed_lines_ = 0;
  std::string failure_;
  std::vector<FakeBuilder> builders_;
};

}  // namespace mxkv::server::test
