// Carries out the commands of administrators that come over connections: stats, verbosity, cache_memlimit,
// shutdown, debugtime.
#pragma once

#include <cstddef>
#include <string>

#include "config/options.hpp"
#include "protocol/request.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/scheduler/runtime.hpp"
#include "server/daemon/log.hpp"
#include "server/net/admin_source.hpp"
#include "server/stats/statistics.hpp"

namespace mxkv::server {

/// Thread-safety: any thread.
class Administration final : public AdminSource {
 public:
  /// All arguments outlive this. `clock`: what debugtime steers; null: it is not known.
  Administration(runtime::Runtime& runtime, Statistics& statistics, Log& log, runtime::SteeredClock* clock,
                 const config::ServerOptions& options);

  [[nodiscard]] std::string run(const protocol::Request& request) override;

 private:
  std::string set_verbosity(std::uint64_t level);
  std::string set_memory_limit(std::uint64_t mebibytes);
  std::string shut_down(const protocol::Request& request);
  std::string steer_clock(const protocol::Request& request);

  runtime::Runtime& runtime_;
  Statistics& statistics_;
  Log& log_;
  runtime::SteeredClock* clock_;
  bool shutdown_allowed_;
  std::size_t greatest_limit_;  ///< the memory's addresses are reserved at the start
};

}  // namespace mxkv::server
