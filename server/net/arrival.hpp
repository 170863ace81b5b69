// On which NUMA node a connection's packets arrive.
//
// The system tells the CPU that handled a socket's last packets (SO_INCOMING_CPU): the one that the network card
// interrupts for them, or where both ends are on this machine the client's. A unix socket has none.
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
  /// Nothing is known on a machine of one node.
  explicit ArrivalNodes(const runtime::RuntimeOptions& options);

  /// None: unknown, or of a CPU of no node that the runtime knows.
  [[nodiscard]] std::optional<runtime::NumaNodeId> of(int socket) const noexcept;
  [[nodiscard]] std::optional<runtime::NumaNodeId> of_cpu(std::uint32_t cpu) const noexcept;

 private:
  void note(std::uint32_t cpu, runtime::NumaNodeId node);

  std::vector<std::optional<runtime::NumaNodeId>> by_cpu_;  ///< by the system's number
};

}  // namespace mxkv::server
