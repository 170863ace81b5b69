// A cluster's node: its keys, invalid values, and the defaults of keys that are left out.
#include "config/cluster.hpp"

#include <gmock/gmock.h>

#include <string>

#include "config/describe.hpp"
#include "config/load.hpp"
#include "config/resolve.hpp"
#include "config/without_effect.hpp"
#include "runtime/topology/build.hpp"
#include "tests/unit/config/fixture.hpp"

namespace mxkv::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kGood =
    "listeners: [\"10.0.0.5:11211\"]\n"
    "memory: {when_full: error}\n"
    "cluster:\n"
    "  name: shop\n"
    "  brokers: [\"kafka-1:9092\", \"10.0.0.2:9092\", \"[::1]:9092\"]\n"
    "  peer: 10.0.0.5:11311\n";

Loaded loaded(const std::string& text) {
  const TemporaryFile file{text};
  return read_options(file.path(), {}, {});
}

// All mistakes, without the file's name.
std::string wrong(const std::string& text) {
  const TemporaryFile file{text};
  Loaded read = read_options(file.path(), {}, {});
  const runtime::Topology topology =
      runtime::topology_from_synthetic("Package:1 [NUMANode(memory=8GiB)] L3Cache:1 Core:2 PU:1").value();
  add_misfits(read, topology, facts_of(topology));
  if (read.findings.empty()) {
    return "";
  }
  std::string all = to_error(read.findings).message;
  const std::string name = file.path().string() + ":";
  for (std::size_t at = all.find(name); at != std::string::npos; at = all.find(name)) {
    all.erase(at, name.size());
  }
  return all;
}

std::string in_cluster(const std::string& more) {
  return kGood + ("  " + more + "\n");
}

TEST(Cluster, ANodeNeedsNameBrokersAndPeer) {
  EXPECT_EQ(wrong(kGood), "");
  const DaemonOptions options = loaded(kGood).options;
  EXPECT_EQ(options.cluster.name, "shop");
  EXPECT_THAT(options.cluster.brokers, ElementsAre("kafka-1:9092", "10.0.0.2:9092", "[::1]:9092"));
  EXPECT_EQ(cluster_peer_address(options.cluster), "10.0.0.5:11311");
  EXPECT_EQ(cluster_client_address(options), "10.0.0.5:11211");
  EXPECT_FALSE(cluster_node(options.cluster).empty()) << "the host's";
}

TEST(Cluster, WhatOthersAreToldMayDiffer) {
  const DaemonOptions options =
      loaded(
          "cluster: {name: c, brokers: [\"b:1\"], node: n-1, peer: 0.0.0.0:11311, advertise: \"[::5]:7\", "
          "address: 10.0.0.5:1}\n")
          .options;
  EXPECT_EQ(cluster_node(options.cluster), "n-1");
  EXPECT_EQ(cluster_peer_address(options.cluster), "[::5]:7");
  EXPECT_EQ(cluster_client_address(options), "10.0.0.5:1");
}

TEST(Cluster, WhatIsMissingOrExcludesItIsToldAllAtOnce) {
  EXPECT_EQ(
      wrong("durability: {directory: d}\ncluster: {name: c}\n"),
      "1:25: durability.directory: given together with cluster.name (allowed: one of them; a node of a "
      "cluster keeps its data in the brokers' logs)\n"
      "2:17: cluster.brokers: is empty (allowed with cluster.name: at least one host:port)\n"
      "2:17: cluster.peer: is none (allowed with cluster.name: an address and a port that the other "
      "nodes reach)\n"
      "2:17: memory.when_full: is evict, and followers would evict items that the owner has (allowed with "
      "cluster.name: error)");
  EXPECT_EQ(wrong("cluster: {brokers: [\"a:1\"], peer: 0.0.0.0:1}\n"), "") << "no name, no cluster";
}

TEST(Cluster, AnAddressThatNobodyCanAskIsRefused) {
  const std::string start = "memory: {when_full: error}\ncluster: {name: c, brokers: [\"a:1\"], peer: ";
  EXPECT_EQ(
      wrong(start + "\"0.0.0.0:11311\"}\n"),
      "2:44: cluster.peer: 0.0.0.0:11311 is an address that other nodes cannot reach (allowed: one address "
      "of this machine, or cluster.advertise beside it)");
  EXPECT_EQ(wrong(start + "\"0.0.0.0:11311\", advertise: \"10.0.0.1:7\"}\n"), "");
  EXPECT_EQ(wrong(start + "10.0.0.1:1}\nlisteners: [\"[::]:11211\"]\n"),
            "2:17: cluster.address: is auto, and the first listener, [::]:11211, is an address that clients "
            "cannot reach (allowed: an address in numbers and a port)");
  EXPECT_EQ(wrong(start + "10.0.0.1:1, address: 10.0.0.1:2}\nlisteners: [\"[::]:11211\"]\n"), "");
  EXPECT_EQ(wrong(start + "\"127.0.0.1:11211\"}\n"),
            "2:44: cluster.peer: 127.0.0.1:11211 is taken already (by listeners[0], 127.0.0.1:11211)");
}

TEST(Cluster, EachValueSaysWhatIsAllowed) {
  EXPECT_THAT(wrong("cluster: {name: a/b}\n"),
              HasSubstr("cluster.name: \"a/b\" is not a name (allowed: at most 100 letters, digits, . _ -, "
                        "or none)"));
  EXPECT_THAT(wrong("cluster: {name: ..}\n"), HasSubstr("\"..\" is not a name"));
  EXPECT_THAT(wrong("cluster: {node: \"\"}\n"), HasSubstr("cluster.node: \"\" is not a name"));
  for (const char* broker : {"a", "a:", ":1", "a:0", "a:65536", "a b:1", "unix:/s"}) {
    EXPECT_THAT(wrong("cluster: {brokers: [\"" + std::string{broker} + "\"]}\n"),
                HasSubstr("is not a broker (allowed: host:port, such as 10.0.0.1:9092)"))
        << broker;
  }
  EXPECT_THAT(wrong("cluster: {brokers: [{host: a}]}\n"), HasSubstr("cluster.brokers[0]"));
  for (const char* address : {"unix:/s", "host:1", "10.0.0.1", "10.0.0.1:0"}) {
    EXPECT_THAT(wrong("cluster: {peer: \"" + std::string{address} + "\"}\n"),
                HasSubstr("is not an address and a port from 1 to 65535 (allowed: an address in numbers and "
                          "a port, such as 10.0.0.5:11311, or none)"))
        << address;
  }
  EXPECT_THAT(wrong("cluster: {advertise: \"0.0.0.0:1\"}\n"),
              HasSubstr("means every address of a machine, and other nodes need one of them"));
  EXPECT_THAT(wrong("cluster: {address: \"[::]:1\"}\n"),
              HasSubstr("means every address of a machine, and other nodes need one of them"));
  EXPECT_THAT(wrong("cluster: {lease: 100ms}\n"), HasSubstr("is out of range (allowed: 500ms to 1min)"));
  EXPECT_THAT(wrong("cluster: {snapshot: 1KiB}\n"), HasSubstr("64KiB"));
}

TEST(Cluster, PropertiesAreNamesWithOrWithoutMappings) {
  const Loaded read = loaded(
      "cluster:\n  properties:\n    security.protocol: sasl_ssl\n    sasl: {username: me, mechanism: "
      "PLAIN}\n");
  EXPECT_TRUE(read.findings.empty());
  EXPECT_THAT(read.options.cluster.properties,
              ElementsAre(Pair("sasl.mechanism", "PLAIN"), Pair("sasl.username", "me"),
                          Pair("security.protocol", "sasl_ssl")));
  const std::vector<std::string> sets{"cluster.properties.client.id=x",
                                      "cluster.properties={client.rack: r}"};
  EXPECT_THAT(read_options({}, sets, {}).options.cluster.properties,
              ElementsAre(Pair("client.id", "x"), Pair("client.rack", "r")));
  EXPECT_EQ(wrong("cluster: {properties: [a]}\n"),
            "1:23: cluster.properties: is not a mapping (allowed: name: value)");
  EXPECT_EQ(wrong("cluster: {properties: {a: [1], b: }}\n"),
            "1:24: cluster.properties.a: is a list (allowed: one value)\n"
            "1:32: cluster.properties.b: has no value (allowed: one value)");
  EXPECT_EQ(wrong("cluster: {properties: {bootstrap.servers: a}}\n"),
            "1:43: cluster.properties.bootstrap.servers: must not be set here (allowed: cluster.brokers)");
  EXPECT_EQ(wrong("cluster: {properties: {Acks: 1}}\n"),
            "1:30: cluster.properties.Acks: is not the name of a property (allowed: small letters, digits, . "
            "_ -)");
}

TEST(Cluster, IsPrintedAsItIsReadButForSecrets) {
  Loaded read = loaded(in_cluster("properties: {client.id: \"a: 'b'\"}"));
  ASSERT_TRUE(read.findings.empty());
  const TemporaryFile again{print_yaml(read.options)};
  EXPECT_EQ(describe(read_options(again.path(), {}, {}).options), describe(read.options));
  read = loaded(in_cluster("properties: {sasl.password: abracadabra, ssl.key.pem: hocus}"));
  EXPECT_EQ(read.options.cluster.properties.at("sasl.password"), "abracadabra");
  for (const std::string& text : {print_yaml(read.options), describe(read.options)}) {
    EXPECT_THAT(text, HasSubstr("sasl.password: \"***\""));
    EXPECT_THAT(text, Not(HasSubstr("abracadabra")));
    EXPECT_THAT(text, Not(HasSubstr("hocus")));
  }
}

TEST(Cluster, NodesShowEachOtherCertificatesOrDoNot) {
  EXPECT_FALSE(loaded(kGood).options.cluster.tls.given());
  const std::string all = in_cluster("tls: {certificate: c.pem, key: k.pem, ca: ca.pem, name: node.shop}");
  EXPECT_EQ(wrong(all), "");
  const TlsOptions tls = loaded(all).options.cluster.tls;
  EXPECT_EQ(tls, (TlsOptions{"c.pem", "k.pem", "ca.pem", tls_version::v1_3, "node.shop"}));
  EXPECT_EQ(wrong(in_cluster("tls: {certificate: c.pem, key: k.pem}")),
            "4:9: cluster.tls.ca: is none (allowed: files in PEM for all of cluster.tls, or for none of it)");
  EXPECT_THAT(wrong(in_cluster("tls: {name: node.shop}")),
              AllOf(HasSubstr("cluster.tls.certificate: is none"), HasSubstr("cluster.tls.key: is none"),
                    HasSubstr("cluster.tls.ca: is none")));
  EXPECT_THAT(wrong(in_cluster("tls: {name: \"a b\"}")),
              HasSubstr("cluster.tls.name: \"a b\" is not a name"));
  EXPECT_THAT(wrong(in_cluster("tls: {ca: \"\"}")),
              HasSubstr("cluster.tls.ca: is empty (allowed: a file's name, or none)"));
}

TEST(Cluster, WhatChangesNothingIsTold) {
  const auto idle = [](const std::string& text) {
    std::string all;
    for (const Finding& finding : switches_without_effect(loaded(text).options, 2, 1)) {
      all += finding.path + " " + finding.what + "\n";
    }
    return all;
  };
  EXPECT_EQ(idle("cluster: {brokers: [\"a:1\"], peer: 127.0.0.1:1}\n"),
            "cluster.brokers has no effect: cluster.name is none, so that there is no cluster\n"
            "cluster.peer has no effect: cluster.name is none, so that there is no cluster\n");
  EXPECT_EQ(idle("cluster: {tls: {certificate: c, key: k, ca: a}}\n"),
            "cluster.tls has no effect: cluster.name is none, so that there is no cluster\n");
  EXPECT_EQ(idle(in_cluster("patience: 2s")), "");
}

}  // namespace
}  // namespace mxkv::config
