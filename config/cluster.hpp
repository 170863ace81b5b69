// A node of a cluster, as configured: its name and addresses, and options that exclude each other.
#pragma once

#include <string>

#include "config/findings.hpp"
#include "config/options.hpp"

namespace mxkv::config {

/// Whether `text` may name a cluster or a node: 1 to 100 letters, digits, . _ -, and not only dots.
/// Thread-safety: any thread.
[[nodiscard]] bool is_cluster_name(std::string_view text);

/// Whether `text` is "host:port": a name or a numeric address (IPv6 in brackets), and a port from 1 on.
/// Thread-safety: any thread.
[[nodiscard]] bool is_host_and_port(std::string_view text);

/// Adds the mistakes in a cluster node's options: missing ones, and ones that exclude each other. Nothing
/// without ClusterOptions::name. Thread-safety: any thread.
void check_cluster(const DaemonOptions& options, Findings& findings);

/// ClusterOptions::node, or the host's name. Thread-safety: any thread.
[[nodiscard]] std::string cluster_node(const ClusterOptions& options);
/// The address for other nodes, such as 10.0.0.5:11311. For options without mistakes of check_cluster().
/// Thread-safety: any thread.
[[nodiscard]] std::string cluster_peer_address(const ClusterOptions& options);
/// The address for clients. For options without mistakes of check_cluster(). Thread-safety: any thread.
[[nodiscard]] std::string cluster_client_address(const DaemonOptions& options);

}  // namespace mxkv::config
