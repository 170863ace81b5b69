// A value being received: from the parsed command line to an item that a write task can put into the tree.
//
// Small values get their item at once. Large ones get chunks as the data arrives: memory never depends on the
// length that a client announced. When memory runs out, the caller waits until some is free; or it abandons
// the builder, discards the rest of the data and reports the error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "protocol/point_request.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// Whether a command makes an item of nothing but its key and value, which then go to Store::set().
[[nodiscard]] inline bool is_plain_set(const protocol::Request& request) noexcept {
  return request.op == protocol::verb::set && request.flags == 0 && request.exptime == 0 &&
         request.value_bytes <= kInlineValueBytes;
}

/// Thread-safety: owner worker only. Move only; must be stored or abandoned.
class ItemBuilder {
 public:
  /// Starts from a parsed storage command.
  ItemBuilder(runtime::Worker& worker, const protocol::Request& request);
  /// For a value that came with its command: nothing is missing then.
  ItemBuilder(runtime::Worker& worker, const protocol::Request& request, std::string_view value);
  ItemBuilder() noexcept = default;
  ItemBuilder(ItemBuilder&& other) noexcept { *this = std::move(other); }
  ItemBuilder& operator=(ItemBuilder&& other) noexcept {
    MXKV_DCHECK(item_ == nullptr, "a builder is abandoned before it is overwritten");
    item_ = std::exchange(other.item_, nullptr);
    filled_ = other.filled_;
    value_bytes_ = other.value_bytes_;
    request_ = other.request_;
    if (other.meta_) {
      meta_ = other.meta_;
      request_.flags = &*meta_;
    }
    return *this;
  }
  ItemBuilder(const ItemBuilder&) = delete;
  ItemBuilder& operator=(const ItemBuilder&) = delete;
  ~ItemBuilder() { MXKV_DCHECK(item_ == nullptr, "a builder is stored or abandoned"); }

  /// Adds value bytes, at most missing(). Returns how many; fewer means out of memory, and the caller may add
  /// the rest when there is memory again. Not after failed().
  [[nodiscard, gnu::always_inline]] std::size_t append(runtime::Worker& worker, const char* data,
                                                       std::size_t bytes) {
    MXKV_DCHECK(item_ != nullptr && bytes <= missing(), "no more comes than was announced");
    if (item_->large()) [[unlikely]] {
      return append_to_list(worker, data, bytes);
    }
    std::copy_n(data, bytes, item_->value_begin() + filled_);  // `bytes` may be 0 with a null `data`
    filled_ += bytes;
    return bytes;
  }
  /// Where to receive the next bytes of a large value; empty: out of memory. Call advance() afterwards.
  [[nodiscard]] std::span<char> space(runtime::Worker& worker);
  void advance(std::size_t bytes) noexcept;

  [[nodiscard]] bool failed() const noexcept { return item_ == nullptr; }
  /// Value bytes that have not come yet.
  [[nodiscard]] std::uint64_t missing() const noexcept { return value_bytes_ - filled_; }
  /// The request that stores the value. Refers to this and its item; not after failed().
  [[nodiscard]] const protocol::PointRequest& request() const noexcept {
    MXKV_DCHECK(item_ != nullptr, "what failed asks for nothing");
    return request_;
  }
  /// Gives back all memory.
  void abandon(runtime::Worker& worker) noexcept;
  /// Hands the finished item over.
  [[nodiscard]] Item* take() noexcept {
    MXKV_DCHECK(item_ != nullptr && missing() == 0, "a value is whole when it is taken");
    MXKV_DCHECK(item_->value_bytes() == value_bytes_, "an item has the value that was announced");
    return std::exchange(item_, nullptr);
  }

 private:
  void build(runtime::Worker& worker, const protocol::Request& request);
  [[nodiscard]] std::size_t append_to_list(runtime::Worker& worker, const char* data, std::size_t bytes);
  [[nodiscard]] bool grow(runtime::Worker& worker);

  Item* item_ = nullptr;
  std::uint64_t filled_ = 0;
  std::uint64_t value_bytes_ = 0;
  protocol::PointRequest request_;
  std::optional<protocol::MetaFlags> meta_;  ///< the request's flags, if it came as ms or by the binary
                                             ///< protocol
};

}  // namespace mxkv::server
