// Warnings at the start about listeners that anyone who reaches them may use.
#pragma once

#include <string>

#include "config/options.hpp"

namespace mxkv::server {

/// The warning about an address beyond this machine without logins; empty: none. Any thread.
[[nodiscard]] std::string warning_of_open(const config::ListenAddress& listen,
                                          const config::ServerOptions& options);

/// The same for the listener for other nodes of the cluster, which never log in.
[[nodiscard]] std::string warning_of_open_node(const config::ClusterOptions& options);

}  // namespace mxkv::server
