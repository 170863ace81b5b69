// A value being received: from the parsed command line to an item that a write task can put into the tree.
//
// Small values take their item at once. Large ones take chunks as the data arrives, never from the length
// that a client announced. When memory runs out the caller waits for some, or abandons the builder, swallows
// the rest of the data and reports it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "protocol/point_request.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only. Move only; must be stored or abandoned.
class ItemBuilder {
 public:
  ItemBuilder() noexcept = default;
  ItemBuilder(ItemBuilder&& other) noexcept { *this = std::move(other); }
  ItemBuilder& operator=(ItemBuilder&& other) noexcept {
    MXKV_DCHECK(item_ == nullptr, "a builder is abandoned before it is overwritten");
    item_ = std::exchange(other.item_, nullptr);
    filled_ = other.filled_;
    value_bytes_ = other.value_bytes_;
    cas_unique_ = other.cas_unique_;
    op_ = other.op_;
    if (other.meta_) {
      meta_ = other.meta_;
    }
    return *this;
  }
  ItemBuilder(const ItemBuilder&) = delete;
  ItemBuilder& operator=(const ItemBuilder&) = delete;
  ~ItemBuilder() { MXKV_DCHECK(item_ == nullptr, "a builder is stored or abandoned"); }

  /// Starts from a parsed storage command.
  [[nodiscard]] static ItemBuilder begin(runtime::Worker& worker, const protocol::Request& request);

  /// Adds value bytes, at most missing(); returns how many. Fewer: out of memory; more may be added when
  /// there is some again. Not after failed().
  [[nodiscard]] std::size_t append(runtime::Worker& worker, const char* data, std::size_t bytes);
  /// Where the next bytes of a large value may be received to; empty: out of memory. Then advance().
  [[nodiscard]] std::span<char> space(runtime::Worker& worker);
  void advance(std::size_t bytes) noexcept;

  [[nodiscard]] bool failed() const noexcept { return item_ == nullptr; }
  /// Value bytes that have not come yet.
  [[nodiscard]] std::uint64_t missing() const noexcept { return value_bytes_ - filled_; }
  /// What is to become of the value. Refers to this and its item; not after failed().
  [[nodiscard]] protocol::PointRequest request() const noexcept {
    protocol::PointRequest request{
        .key = item_->key(), .terms = protocol::point_word(op_).terms, .op = op_, .compare = cas_unique_};
    if (meta_) {
      request.take(*meta_);
    }
    return request;
  }
  /// Gives back all memory.
  void abandon(runtime::Worker& worker) noexcept;
  /// Hands the finished item over.
  [[nodiscard]] Item* take() noexcept { return std::exchange(item_, nullptr); }

 private:
  [[nodiscard]] bool grow(runtime::Worker& worker);

  Item* item_ = nullptr;
  std::uint64_t filled_ = 0;
  std::uint64_t value_bytes_ = 0;
  std::uint64_t cas_unique_ = 0;
  protocol::verb op_ = protocol::verb::set;
  std::optional<protocol::MetaFlags> meta_;  ///< of ms
};

}  // namespace mxkv::server
