// Carries out administrators' commands from connections: client, stats, verbosity, cache_memlimit, shutdown,
// debugtime. Passes config get and config set on to the main thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "config/options.hpp"
#include "protocol/request.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/daemon/config_inbox.hpp"
#include "server/daemon/log.hpp"
#include "server/net/session/admin_source.hpp"
#include "server/net/worker/network.hpp"
#include "server/stats/statistics.hpp"

namespace mxkv::server {

/// Thread-safety: any thread.
class Administration final : public AdminSource {
 public:
  /// All arguments outlive this. `clock`: debugtime steers it; null: there is no such command.
  Administration(runtime::Runtime& runtime, Statistics& statistics, Log& log, runtime::SteeredClock* clock,
                 const config::ServerOptions& options, ConfigInbox& inbox);

  /// Before any command comes.
  void set_network(Network& network) noexcept { network_ = &network; }
  [[nodiscard]] std::string run(const protocol::Request& request, AdminCursor& cursor) override;
  [[nodiscard]] bool configure(const protocol::Request& request, const std::string& client,
                               const ReplyAddress& address) override;
  void set_shutdown_allowed(bool allowed) noexcept {
    shutdown_allowed_.store(allowed, std::memory_order_relaxed);
    statistics_.note_shutdown_command(allowed);
  }
  /// The greatest memory limit that can be set while the daemon runs.
  [[nodiscard]] std::size_t greatest_limit() const noexcept { return greatest_limit_; }

 private:
  std::string set_verbosity(std::uint64_t level);
  std::string set_memory_limit(std::uint64_t mebibytes);
  std::string shut_down(const protocol::Request& request);
  [[nodiscard]] std::string client_command(std::string_view argument, AdminCursor& cursor);
  std::string steer_clock(const protocol::Request& request);

  runtime::Runtime& runtime_;
  Statistics& statistics_;
  Log& log_;
  Network* network_ = nullptr;
  runtime::SteeredClock* clock_;
  ConfigInbox& inbox_;
  std::atomic<bool> shutdown_allowed_;  // relaxed: it orders nothing
  std::size_t greatest_limit_;          ///< the address space is reserved at the start
};

}  // namespace mxkv::server
