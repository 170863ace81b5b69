// Listeners that anybody who reaches them may use, told when the server starts.
#pragma once

#include <string>

#include "config/options.hpp"

namespace mxkv::server {

/// What to warn of: an address of more than this machine where nobody logs in; empty: nothing. Any thread.
[[nodiscard]] std::string warning_of_open(const config::ListenAddress& listen,
                                          const config::ServerOptions& options);

/// The same of where a node of a cluster is asked by the others, who never log in.
[[nodiscard]] std::string warning_of_open_node(const config::ClusterOptions& options);

}  // namespace mxkv::server
