// Finds the NUMA node on which a connection's packets arrive.
//
// The system names the CPU that handled a socket's last packets (SO_INCOMING_CPU). That is the CPU that the
// network card interrupts for them, or the client's CPU if both ends are on this machine. A unix socket has
// no such CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/ids.hpp"
#include "runtime/options.hpp"

namespace mxkv::server {

/// Thread-safety: any thread, once made.
class ArrivalNodes {
 public:
  /// On a machine with one node nothing is recorded.
  explicit ArrivalNodes(const runtime::RuntimeOptions& options);

  /// None: the CPU is unknown, or belongs to no node that the runtime knows.
  [[nodiscard]] std::optional<runtime::NumaNodeId> of(int socket) const noexcept;
  [[nodiscard]] std::optional<runtime::NumaNodeId> of_cpu(std::uint32_t cpu) const noexcept;

 private:
  void note(std::uint32_t cpu, runtime::NumaNodeId node);

  std::vector<std::optional<runtime::NumaNodeId>> by_cpu_;  ///< index: the system's CPU number
};

}  // namespace mxkv::server
