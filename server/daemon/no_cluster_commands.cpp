// In place of cluster_commands.cpp where there is no librdkafka.
#include "server/daemon/cluster_commands.hpp"
#include "server/daemon/daemon.hpp"

namespace mxkv::server {

int run_command(const ClusterCommand& /*command*/) {
  return complain(kExitFailed, "this mxkvd was built without librdkafka: no cluster");
}

}  // namespace mxkv::server
