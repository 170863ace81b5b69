// Requests that wait for their order: copies of what they need, in the order sent.
//
// They hold keys and finished values, no pins and no bytes of read buffers, so that one that waits for long
// holds up no other request.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "protocol/request.hpp"
#include "server/reply/request_order.hpp"

namespace mxkv::server {

/// One that waits. `BuilderT`: a value that was received whole.
template <class BuilderT>
struct WaitingRequest {
  WaitingRequest* next = nullptr;
  OrderClaim claim{0};
  std::uint32_t ticket = 0;
  protocol::verb op{};
  bool end_line = false;
  std::uint8_t key_bytes = 0;
  std::int64_t exptime = 0;
  std::uint64_t delta = 0;
  protocol::MetaFlags meta;  ///< of meta commands
  std::array<char, protocol::kMaxKeyBytes> key_text;
  std::optional<BuilderT> value;

  [[nodiscard]] std::string_view key() const noexcept { return {key_text.data(), key_bytes}; }
  void set_key(std::string_view key) noexcept {
    std::memcpy(key_text.data(), key.data(), key.size());
    key_bytes = static_cast<std::uint8_t>(key.size());
  }
};

/// Recycles them for all sessions of one worker. Thread-safety: owner worker only.
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
    request->value.reset();
    request->next = free_;
    free_ = request;
  }

 private:
  Request* free_ = nullptr;
};

}  // namespace mxkv::server
