// Carries requests to see or change the configuration from the workers to the main thread, and the answers
// back.
//
// A worker does not wait: it queues the request, rings, and continues. The main thread owns the
// configuration, and a change has to reach all workers. The answer goes to the connection's worker as a task.
// The connection does not move meanwhile, since it has an operation under way.
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
  std::string path;   ///< of the option; of config get: a pattern, empty for all
  std::string value;  ///< of config set
  std::string client;
  ReplyAddress address;
};

/// Thread-safety: any thread.
class ConfigInbox {
 public:
  /// `bell` rings when a request comes; it outlives all callers of put().
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
  /// Takes all waiting requests.
  [[nodiscard]] std::vector<ConfigRequest> take() {
    const std::scoped_lock lock{mutex_};
    return std::exchange(waiting_, {});
  }

 private:
  std::atomic<HappeningBell*> bell_{nullptr};
  std::mutex mutex_;  ///< guards waiting_
  std::vector<ConfigRequest> waiting_;
};

/// Sends the whole reply to a request. Thread-safety: any thread that is not a worker.
void answer(runtime::Runtime& runtime, const ReplyAddress& address, std::string text);

}  // namespace mxkv::server
