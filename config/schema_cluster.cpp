// Keys of a cluster's node. cluster.cpp checks which of them exclude each other.
#include <algorithm>
#include <array>

#include "config/cluster.hpp"
#include "config/schema_forms.hpp"
#include "config/yaml_text.hpp"

namespace mxkv::config {
namespace {

using runtime::Error;
using runtime::Result;

// Accepts any form of name that a certificate may have.
void cluster_name(SchemaVisitor& visitor, std::string_view name, std::string& target, std::string_view none) {
  visitor.scalar(
      name, ScalarField{.set = [&target, none](std::string_view text) -> Mistake {
                          if (!is_cluster_name(text)) {
                            return Error{in_quotes(text) +
                                         " is not a name (allowed: at most 100 letters, digits, . _ -, or " +
                                         std::string{none} + ")"};
                          }
                          target = text == none ? "" : text;
                          return {};
                        },
                        .get = [&target, none] { return target.empty() ? std::string{none} : target; }});
}

// A numeric address, of one machine or for all its addresses.
Result<ListenAddress> parse_tcp(std::string_view text, bool one_machine, std::string_view none) {
  const std::string allowed =
      " (allowed: an address in numbers and a port, such as 10.0.0.5:11311, or " + std::string{none} + ")";
  Result<ListenAddress> listen = parse_listen(text);
  if (!listen || !listen.value().path.empty() || listen.value().port == 0) {
    return Error{in_quotes(text) + " is not an address and a port from 1 to 65535" + allowed};
  }
  if (one_machine && listen.value().address.find_first_not_of("0:.") == std::string::npos) {
    return Error{in_quotes(text) + " means every address of a machine, and other nodes need one of them" +
                 allowed};
  }
  return listen;
}

void peer(SchemaVisitor& visitor, std::optional<ListenAddress>& target) {
  visitor.scalar("peer", ScalarField{.set = [&target](std::string_view text) -> Mistake {
                                       if (text == "none") {
                                         target.reset();
                                         return {};
                                       }
                                       Result<ListenAddress> listen = parse_tcp(text, false, "none");
                                       if (!listen) {
                                         return listen.error();
                                       }
                                       target = std::move(listen).value();
                                       return {};
                                     },
                                     .get = [&target] { return target ? format_listen(*target) : "none"; }});
}

// An address that is announced to others.
void told_address(SchemaVisitor& visitor, std::string_view name, std::string& target) {
  visitor.scalar(name, ScalarField{.set = [&target](std::string_view text) -> Mistake {
                                     if (text == "auto") {
                                       target.clear();
                                       return {};
                                     }
                                     const Result<ListenAddress> listen = parse_tcp(text, true, "auto");
                                     if (!listen) {
                                       return listen.error();
                                     }
                                     target = format_listen(listen.value());
                                     return {};
                                   },
                                   .get = [&target] { return target.empty() ? "auto" : target; }});
}

void brokers(SchemaVisitor& visitor, std::vector<std::string>& target) {
  visitor.list("brokers",
               ListField{.least_items = 0,
                         .clear = [&target] { target.clear(); },
                         .set_text = {},
                         .add_text = [&target](std::string_view text) -> Mistake {
                           if (!is_host_and_port(text)) {
                             return Error{in_quotes(text) +
                                          " is not a broker (allowed: host:port, such as 10.0.0.1:9092)"};
                           }
                           target.emplace_back(text);
                           return {};
                         },
                         .add_mapping = [](SchemaVisitor& /*item*/) -> Mistake {
                           return Error{"is a mapping (allowed: host:port, such as 10.0.0.1:9092)"};
                         },
                         .items =
                             [&target] {
                               return format_items(
                                   target, [](const std::string& broker) { return in_yaml_quotes(broker); });
                             }});
}

// A value that must not be shown with the options.
bool is_secret(std::string_view name) {
  constexpr std::array<std::string_view, 5> kParts{"password", "secret", "credential", "key.pem",
                                                   "oauthbearer.config"};
  return std::ranges::any_of(
      kParts, [name](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

void properties(SchemaVisitor& visitor, std::map<std::string, std::string>& target) {
  visitor.names(
      "properties",
      NamesField{.set = [&target](const std::string& name, std::string_view text) -> Mistake {
                   if (name == "bootstrap.servers" || name == "metadata.broker.list") {
                     return Error{"must not be set here (allowed: cluster.brokers)"};
                   }
                   const bool known_form = !name.empty() && std::ranges::all_of(name, [](char c) {
                     return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                            c == '-';
                   });
                   if (!known_form) {
                     return Error{"is not the name of a property (allowed: small letters, digits, . _ -)"};
                   }
                   target[name] = text;
                   return {};
                 },
                 .items =
                     [&target] {
                       std::vector<std::pair<std::string, std::string>> items;
                       for (const auto& [name, text] : target) {
                         items.emplace_back(name, is_secret(name) ? "***" : text);
                       }
                       return items;
                     }});
}

}  // namespace

void show_cluster(SchemaVisitor& visitor, ClusterOptions& options) {
  cluster_name(visitor, "name", options.name, "none");
  brokers(visitor, options.brokers);
  properties(visitor, options.properties);
  cluster_name(visitor, "node", options.node, "auto");
  peer(visitor, options.peer);
  visitor.section("tls", [&options](SchemaVisitor& section) {
    file_name(section, "certificate", options.tls.certificate, "none");
    file_name(section, "key", options.tls.key, "none");
    file_name(section, "ca", options.tls.client_ca, "none");
    cluster_name(section, "name", options.tls.name, "none");
  });
  told_address(visitor, "advertise", options.advertise);
  told_address(visitor, "address", options.address);
  ranged(visitor, "lease", options.lease_ms, kDuration, {500, 60_s});
  choice(visitor, "forward", options.forward, kBoolWords);
  ranged(visitor, "patience", options.patience_ms, kDuration, {0, 60_s});
  ranged(visitor, "deadline", options.deadline_ms, kDuration, {1_s, 600_s});
  ranged(visitor, "staleness", options.staleness_ms, kDuration, {100, 60_s});
  ranged(visitor, "snapshot", options.snapshot_bytes, kSize, {64_KiB, 1_TiB});
}

}  // namespace mxkv::config
