// A node of a cluster, as configured: what it is called and reached by, and what goes together with nothing else.
#pragma once

#include <string>

#include "config/findings.hpp"
#include "config/options.hpp"

namespace mxkv::config {

/// Whether `text` is letters, digits, . _ -, at most 100 of them, and more than dots: a topic or a node may be called so.
/// Thread-safety: any thread.
[[nodiscard]] bool is_cluster_name(std::string_view text);

/// "host:port" with a name or an address in numbers (of version 6 in brackets), and a port from 1 on.
/// Thread-safety: any thread.
[[nodiscard]] bool is_host_and_port(std::string_view text);

/// Adds what is wrong with a cluster's node: what it lacks, and what it cannot have at the same time. Nothing without
/// ClusterOptions::name. Thread-safety: any thread.
void check_cluster(const DaemonOptions& options, Findings& findings);

/// ClusterOptions::node, or the host's name. Thread-safety: any thread.
[[nodiscard]] std::string cluster_node(const ClusterOptions& options);
/// What the other nodes use, such as 10.0.0.5:11311. Options that check_cluster() finds right. Thread-safety: any thread.
[[nodiscard]] std::string cluster_peer_address(const ClusterOptions& options);
/// What clients are told. Options that check_cluster() finds right. Thread-safety: any thread.
[[nodiscard]] std::string cluster_client_address(const DaemonOptions& options);

}  // namespace mxkv::config
