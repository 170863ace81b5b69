#include "server/net/sockets/arrival.hpp"

#include <sys/socket.h>

#include <fstream>
#include <string>

#include "config/parse.hpp"
#include "runtime/topology/topology.hpp"

namespace mxkv::server {

// A card may interrupt CPUs that this process may not use. Only the system's files tell the node of those.
ArrivalNodes::ArrivalNodes(const runtime::RuntimeOptions& options) {
  if (options.os_nodes.size() < 2) {
    return;
  }
  for (std::size_t i = 0; i < options.os_nodes.size(); ++i) {
    std::ifstream file{"/sys/devices/system/node/node" + std::to_string(options.os_nodes[i]) + "/cpulist"};
    std::string text;
    if (std::getline(file, text)) {
      if (const auto cpus = config::parse_cpu_list(text); cpus.ok()) {
        for (const runtime::PuId cpu : cpus.value()) {
          note(cpu.value(), runtime::NumaNodeId{static_cast<std::uint16_t>(i)});
        }
      }
    }
  }
  if (options.topology != nullptr) {
    for (const runtime::ProcessingUnit& unit : options.topology->pus) {
      note(unit.pu.value(), unit.node);
    }
  }
}

void ArrivalNodes::note(std::uint32_t cpu, runtime::NumaNodeId node) {
  if (by_cpu_.size() <= cpu) {
    by_cpu_.resize(cpu + 1);
  }
  by_cpu_[cpu] = node;
}

std::optional<runtime::NumaNodeId> ArrivalNodes::of_cpu(std::uint32_t cpu) const noexcept {
  return cpu < by_cpu_.size() ? by_cpu_[cpu] : std::nullopt;
}

std::optional<runtime::NumaNodeId> ArrivalNodes::of(int socket) const noexcept {
  int cpu = -1;
  socklen_t bytes = sizeof cpu;
  if (by_cpu_.empty() || getsockopt(socket, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &bytes) != 0 || cpu < 0) {
    return std::nullopt;
  }
  return of_cpu(static_cast<std::uint32_t>(cpu));
}

}  // namespace mxkv::server
