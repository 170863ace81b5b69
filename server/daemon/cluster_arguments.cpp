// Parses a cluster's nodes from the command line.
#include <cstddef>

#include "config/cluster.hpp"
#include "server/daemon/cluster_commands.hpp"

namespace mxkv::server {

runtime::Result<ClusterMap::Node> parse_cluster_node(const std::string& text) {
  ClusterMap::Node node;
  const std::size_t first = text.find('=');
  const std::size_t second = first == std::string::npos ? first : text.find('=', first + 1);
  node.name = text.substr(0, first);
  if (first != std::string::npos) {
    node.peer = text.substr(first + 1, second == std::string::npos ? second : second - first - 1);
  }
  if (second != std::string::npos) {
    node.address = text.substr(second + 1);
  }
  const bool right = config::is_cluster_name(node.name) && config::is_host_and_port(node.peer) &&
                     (second == std::string::npos || config::is_host_and_port(node.address));
  if (!right) {
    return runtime::Error{"\"" + text +
                          "\" is not a node (allowed: NAME=PEER or NAME=PEER=ADDRESS, such as "
                          "a=10.0.0.1:11311=10.0.0.1:11211)"};
  }
  return node;
}

}  // namespace mxkv::server
