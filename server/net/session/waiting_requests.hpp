// Requests that wait for their order: copies of their data, in the order sent.
//
// They hold keys and complete values, but no pins and no bytes of read buffers, so that one that waits for
// long holds up no other request.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "protocol/point_request.hpp"
#include "runtime/base/assert.hpp"
#include "server/reply/request_order.hpp"

namespace mxkv::server {

/// One waiting request. `BuilderT`: a complete value.
template <class BuilderT>
class WaitingRequest {
 public:
  WaitingRequest* next = nullptr;
  OrderClaim claim{0};
  std::uint32_t ticket = 0;

  /// The request; it refers to memory of this object.
  [[nodiscard]] const protocol::PointRequest& request() const noexcept { return request_; }
  /// Null: the request has no value.
  [[nodiscard]] BuilderT* value() noexcept { return value_ ? &*value_ : nullptr; }
  /// Copies all that the request refers to. Moves from the value, which has its key and flags.
  void hold(const protocol::PointRequest& request, BuilderT* value) {
    if (value != nullptr) {
      value_.emplace(std::move(*value));
      request_ = value_->request();
      return;
    }
    MXKV_DCHECK(request.key.size() <= key_text_.size(), "keys were checked when they were parsed");
    request_ = request;
    std::memcpy(key_text_.data(), request.key.data(), request.key.size());
    request_.key = {key_text_.data(), request.key.size()};
    if (request.has_flags()) {
      flags_ = *request.flags;
      request_.flags = &flags_;
    }
  }
  void let_go() noexcept { value_.reset(); }

 private:
  protocol::PointRequest request_;
  protocol::MetaFlags flags_;  ///< of meta commands
  std::array<char, protocol::kMaxKeyBytes> key_text_;
  std::optional<BuilderT> value_;
};

/// Recycles waiting requests for all sessions of one worker. Thread-safety: owner worker only.
template <class BuilderT>
class WaitingPool {
 public:
  using Request = WaitingRequest<BuilderT>;

  WaitingPool() = default;
  ~WaitingPool() {
    while (free_ != nullptr) {
      delete std::exchange(free_, free_->next);
    }
  }
  WaitingPool(const WaitingPool&) = delete;
  WaitingPool& operator=(const WaitingPool&) = delete;

  [[nodiscard]] Request* take() {
    if (free_ == nullptr) {
      return new Request;
    }
    Request* const request = std::exchange(free_, free_->next);
    request->next = nullptr;
    return request;
  }
  void give(Request* request) noexcept {
    request->let_go();
    request->next = free_;
    free_ = request;
  }

 private:
  Request* free_ = nullptr;
};

}  // namespace mxkv::server
