// Reads the server's counters at the beginning and end of the measurement.
#pragma once

#include <optional>

#include "bench/client/options.hpp"
#include "bench/report/run_result.hpp"
#include "bench/report/server_probe.hpp"

namespace mxkv::bench {

/// Does nothing if the options want no counters, or the server has none. If the server does not answer,
/// prints a warning on stderr, and the run goes on. Thread-safety: owner only.
class ServerWatch {
 public:
  explicit ServerWatch(const Options& options);

  void look_before();
  void look_after(RunResult& result);

 private:
  [[nodiscard]] std::optional<ServerLook> look() const;

  Endpoint server_;
  StatisticsDialect dialect_;
  std::optional<ServerLook> before_;
};

}  // namespace mxkv::bench
