// The looks at the server at both ends of what is measured.
#pragma once

#include <optional>

#include "bench/client/options.hpp"
#include "bench/report/run_result.hpp"
#include "bench/report/server_probe.hpp"

namespace mxkv::bench {

/// Does nothing where the options want no counters, or the server has none. A server that does not answer is
/// warned of on stderr and costs the run nothing else. Thread-safety: owner only.
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
