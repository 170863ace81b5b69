// Requests to see or to change the configuration, on their way from the workers to the main thread, and the answers on
// their way back.
//
// A worker does not wait: it puts the request down, rings, and goes on. The main thread owns what the configuration is,
// and a change of it has to reach all workers; the answer goes to the connection's worker as a task. The connection
// stays where it is meanwhile, since an operation of it is under way.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "protocol/request.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/reply/reply_address.hpp"
#include "server/store/happenings.hpp"

namespace mxkv::server {

/// config get, config set or refresh_certs.
struct ConfigRequest {
  protocol::verb asks = protocol::verb::config_get;
  std::string path;   ///< of the option; of get: a pattern, empty for all
  std::string value;  ///< of set
  std::string client;
  ReplyAddress address;
};

/// Thread-safety: any thread.
class ConfigInbox {
 public:
  /// Is rung when a request came; it outlives all that puts one in.
  void set_bell(HappeningBell& bell) noexcept { bell_.store(&bell, std::memory_order_release); }

  void put(ConfigRequest request) {
    {
      const std::scoped_lock lock{mutex_};
      waiting_.push_back(std::move(request));
    }
    // Pairs with the release in set_bell().
    if (HappeningBell* const bell = bell_.load(std::memory_order_acquire); bell != nullptr) {
      bell->ring();
    }
  }
  /// All that wait.
  [[nodiscard]] std::vector<ConfigRequest> take() {
    const std::scoped_lock lock{mutex_};
    return std::exchange(waiting_, {});
  }

 private:
  std::atomic<HappeningBell*> bell_{nullptr};
  std::mutex mutex_;  ///< guards waiting_
  std::vector<ConfigRequest> waiting_;
};

/// Sends the whole reply to a request. Thread-safety: any thread that is no worker.
void answer(runtime::Runtime& runtime, const ReplyAddress& address, std::string text);

}  // namespace mxkv::server
