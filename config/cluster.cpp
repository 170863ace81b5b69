#include "config/cluster.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "config/parse.hpp"

namespace mxkv::config {
namespace {

constexpr std::size_t kMostNameBytes = 100;  // a topic's name, with its suffix, may have 249

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Whether the address means all addresses of a machine, or the port any free one.
bool is_open(const ListenAddress& listen) {
  return listen.port == 0 || listen.address.find_first_not_of("0:.") == std::string::npos;
}

class ClusterCheck {
 public:
  ClusterCheck(const DaemonOptions& options, Findings& findings) : options_(options), findings_(findings) {}

  void run() {
    const ClusterOptions& mine = options_.cluster;
    if (mine.brokers.empty()) {
      report("cluster.brokers", "is empty (allowed with cluster.name: at least one host:port)");
    }
    if (!mine.peer) {
      report("cluster.peer",
             "is none (allowed with cluster.name: an address and a port that the other nodes reach)");
    } else if (mine.advertise.empty() && is_open(*mine.peer)) {
      report("cluster.peer", format_listen(*mine.peer) +
                                 " is an address that other nodes cannot reach (allowed: one address of this "
                                 "machine, or cluster.advertise beside it)");
    }
    if (mine.address.empty()) {
      check_first_listener();
    }
    check_tls();
    if (mine.node.empty() && !is_cluster_name(cluster_node(mine))) {
      report("cluster.node", "is auto, and the host's name, \"" + cluster_node(mine) +
                                 "\", is not a valid name of a node (allowed: letters, digits, . _ -)");
    }
    if (!options_.durability.directory.empty()) {
      report("durability.directory",
             "given together with cluster.name (allowed: one of them; a node of a cluster keeps its data in "
             "the brokers' logs)");
    }
    if (options_.when_full == when_full::evict) {
      report(
          "memory.when_full",
          "is evict, and followers would evict items that the owner has (allowed with cluster.name: error)");
    }
    for (std::size_t i = 0; i < options_.prefixes.size(); ++i) {
      const PrefixOptions& prefix = options_.prefixes[i];
      if (prefix.has_limit() && prefix.when_full == when_full::evict) {
        report("prefixes[" + std::to_string(i) + "]",
               "when_full is evict, and followers would evict items that the owner has (allowed with "
               "cluster.name: "
               "error)");
      }
    }
  }

 private:
  void check_first_listener() {
    const ListenAddress& first = options_.listeners.front();
    if (!first.path.empty() || is_open(first)) {
      report("cluster.address",
             "is auto, and the first listener, " + format_listen(first) +
                 ", is an address that clients cannot reach (allowed: an address in numbers "
                 "and a port)");
    }
  }

  // A node also shows its certificate when it connects, and checks the other nodes' certificates.
  void check_tls() {
    const TlsOptions& tls = options_.cluster.tls;
    for (const auto& [path, file] : {std::pair{"cluster.tls.certificate", &tls.certificate},
                                     {"cluster.tls.key", &tls.key},
                                     {"cluster.tls.ca", &tls.client_ca}}) {
      if (tls.given() && file->empty()) {
        report(path, "is none (allowed: files in PEM for all of cluster.tls, or for none of it)");
      }
    }
  }

  // A mistake in an omitted option is reported at the place of the cluster's name.
  void report(const std::string& path, std::string what) {
    const Origin* origin = find_origin(options_.origins, path);
    if (origin == nullptr) {
      origin = find_origin(options_.origins, "cluster.name");
    }
    findings_.push_back({origin == nullptr ? Origin{} : *origin, path, std::move(what)});
  }

  const DaemonOptions& options_;
  Findings& findings_;
};

}  // namespace

bool is_cluster_name(std::string_view text) {
  return text.size() <= kMostNameBytes && text.find_first_not_of('.') != std::string_view::npos &&
         std::ranges::all_of(
             text, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_host_and_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  const runtime::Result<std::uint64_t> port = parse_number(text.substr(colon + 1));
  if (!port || port.value() == 0 || port.value() > 65535) {
    return false;
  }
  if (const runtime::Result<ListenAddress> numbers = parse_listen(text)) {
    return numbers.value().path.empty();
  }
  const std::string_view host = text.substr(0, colon);
  return !host.empty() && std::ranges::all_of(host, [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
  });
}

void check_cluster(const DaemonOptions& options, Findings& findings) {
  if (!options.cluster.name.empty()) {
    ClusterCheck{options, findings}.run();
  }
}

std::string cluster_node(const ClusterOptions& options) {
  if (!options.node.empty()) {
    return options.node;
  }
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string{name.data()} : std::string{};
}

std::string cluster_peer_address(const ClusterOptions& options) {
  return options.advertise.empty() && options.peer ? format_listen(*options.peer) : options.advertise;
}

std::string cluster_client_address(const DaemonOptions& options) {
  return options.cluster.address.empty() ? format_listen(options.listeners.front()) : options.cluster.address;
}

}  // namespace mxkv::config
