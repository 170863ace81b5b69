// The NUMA node that a socket's packets arrive on: from its last CPU and the machine's topology.
#include "server/net/sockets/arrival.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "runtime/topology/build.hpp"

namespace mxkv::server::test {
namespace {

using runtime::NumaNodeId;

// Nodes whose numbers this machine does not have: its own files say nothing about them.
constexpr std::uint32_t kAbsentNode = 900;

runtime::RuntimeOptions options_of(runtime::Topology topology) {
  runtime::RuntimeOptions options;
  for (std::uint32_t i = 0; i < topology.nodes.size(); ++i) {
    options.os_nodes.push_back(kAbsentNode + i);
  }
  options.topology = std::make_shared<const runtime::Topology>(std::move(topology));
  return options;
}

/// The accepted end of a connection over the loopback device.
int connect_and_accept() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener, generic, bytes), 0);
  EXPECT_EQ(listen(listener, 1), 0);
  EXPECT_EQ(getsockname(listener, generic, &bytes), 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(client, generic, bytes), 0);
  const int accepted = accept(listener, nullptr, nullptr);
  EXPECT_GE(accepted, 0);
  close(client);
  close(listener);
  return accepted;
}

TEST(ArrivalNodes, KnowsTheNodeOfEachCpu) {
  const ArrivalNodes nodes{
      options_of(runtime::topology_from_synthetic("Package:2 [NUMANode] L3Cache:1 Core:2 PU:1").value())};
  EXPECT_EQ(nodes.of_cpu(0), NumaNodeId{0});
  EXPECT_EQ(nodes.of_cpu(1), NumaNodeId{0});
  EXPECT_EQ(nodes.of_cpu(2), NumaNodeId{1});
  EXPECT_EQ(nodes.of_cpu(3), NumaNodeId{1});
  EXPECT_EQ(nodes.of_cpu(4), std::nullopt) << "of no node";
}

TEST(ArrivalNodes, IsThatOfASocketIfTheSystemReportsIt) {
  runtime::Topology machine = runtime::live_topology().value();
  const auto far = static_cast<std::uint16_t>(machine.nodes.size());
  machine.nodes.push_back({.node = NumaNodeId{far}, .os_index = 0, .memory_bytes = 0, .pus = {}});
  for (runtime::ProcessingUnit& unit : machine.pus) {
    unit.node = NumaNodeId{far};  // so that it differs from a default
  }
  const int accepted = connect_and_accept();
  int cpu = -1;
  socklen_t bytes = sizeof cpu;
  const bool told = getsockopt(accepted, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &bytes) == 0 && cpu >= 0 &&
                    machine.find(runtime::PuId{static_cast<std::uint16_t>(cpu)}) != nullptr;
  const ArrivalNodes nodes{options_of(std::move(machine))};
  EXPECT_EQ(nodes.of(accepted), told ? std::optional{NumaNodeId{far}} : std::nullopt);
  close(accepted);
}

TEST(ArrivalNodes, NothingIsKnownOfUnixSocketsNorWithOneNode) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  const ArrivalNodes nodes{
      options_of(runtime::topology_from_synthetic("Package:2 [NUMANode] L3Cache:1 Core:2 PU:1").value())};
  EXPECT_EQ(nodes.of(pair[0]), std::nullopt);
  EXPECT_EQ(nodes.of(-1), std::nullopt);
  close(pair[0]);
  close(pair[1]);
  const int accepted = connect_and_accept();
  EXPECT_EQ(ArrivalNodes{runtime::RuntimeOptions{}}.of(accepted), std::nullopt);
  close(accepted);
}

}  // namespace
}  // namespace mxkv::server::test
