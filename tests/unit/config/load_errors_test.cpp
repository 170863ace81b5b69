// Every kind of mistake, with the exact place and text of its error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "config/describe.hpp"
#include "config/load.hpp"
#include "tests/unit/config/fixture.hpp"

namespace mxkv::config {
namespace {

using ::testing::StartsWith;

struct Case {
  const char* name;
  std::string text;
  std::string error;  // without "FILE:"
};

std::string error_of(const std::string& text) {
  const TemporaryFile file{text};
  const runtime::Result<DaemonOptions> options = load(file.path(), {});
  if (options.ok()) {
    return "no error";
  }
  const std::string prefix = file.path().string() + ":";
  EXPECT_THAT(options.error().message, StartsWith(prefix));
  std::string error = options.error().message;
  for (std::size_t at = 0; (at = error.find(prefix, at)) != std::string::npos;) {
    error.erase(at, prefix.size());
  }
  return error;
}

// The expected text with the keys of the whole file for "{top}".
std::string with_keys(std::string expected) {
  std::istringstream lines{describe(DaemonOptions{})};
  std::vector<std::string> keys;
  for (std::string line; std::getline(lines, line);) {
    const std::string key = line.substr(0, line.find_first_of(". "));
    if (keys.empty() || keys.back() != key) {
      keys.push_back(key);
    }
  }
  std::string all;
  for (const std::string& key : keys) {
    all.append(all.empty() ? "" : ", ").append(key);
  }
  const std::size_t at = expected.find("{top}");
  return at == std::string::npos ? expected : expected.replace(at, 5, all);
}

TEST(LoadErrors, NameLineColumnKeyMistakeAndWhatIsAllowed) {
  const std::vector<Case> cases{
      {"unknown top-level key", "workers: 2\nwrokers: 3\n",
       "2:1: wrokers: an unknown key, did you mean workers? (allowed: {top})"},
      {"unknown key of a section", "memory:\n  limit: 1GiB\n  huge: off\n",
       "3:3: memory.huge: an unknown key, did you mean huge_pages? (allowed: limit, when_full, evict_for, "
       "huge_pages, numa_placement, "
       "in_core, evacuation)"},
      {"unknown key of a list item", "listeners:\n  - {address: 127.0.0.1, prot: 1}\n",
       "2:26: listeners[0].prot: an unknown key, did you mean port? (allowed: address, port, path, mode, "
       "node, auth, role, reads, tls)"},
      {"repeated key", "limits:\n  pipeline: 1\n  scan_items: 2\n  pipeline: 3\n",
       "4:3: limits.pipeline: a repeated key (allowed: once; first in line 2)"},
      {"repeated section", "log: {level: info}\nlog: {level: off}\n",
       "2:1: log: a repeated key (allowed: once; first in line 1)"},
      {"repeated key of a list item", "nodes:\n  - node: 0\n  - node: 1\n    node: 2\n",
       "4:5: nodes[1].node: a repeated key (allowed: once; first in line 3)"},
      {"size without sense", "memory:\n  limit: 12 parsecs\n",
       "2:10: memory.limit: \"12 parsecs\" is not an amount of memory (allowed: a size such as 512MiB or "
       "8GiB, a part such as 75%, or auto)"},
      {"size out of range", "limits: {value_bytes: 2GiB}\n",
       "1:23: limits.value_bytes: \"2GiB\" is out of range (allowed: 1B to 1GiB)"},
      {"size out of range with a word", "memory: {limit: 1MiB}\n",
       "1:17: memory.limit: \"1MiB\" is out of range (allowed: 16MiB to 64TiB, 1% to 100%, or auto)"},
      {"zero where auto is meant", "workers: 0\n",
       "1:10: workers: \"0\" is out of range (allowed: 1 to 1024, or auto)"},
      {"count out of range", "experimental:\n  prefetch:\n    distance: 65\n",
       "3:15: experimental.prefetch.distance: \"65\" is out of range (allowed: 1 to 64)"},
      {"count beyond its type", "experimental: {prefetch: {window: 4294967297}}\n",
       "1:35: experimental.prefetch.window: \"4294967297\" is out of range (allowed: 1 to 256)"},
      {"no count", "limits: {pipeline: many}\n",
       "1:20: limits.pipeline: \"many\" is not a number (allowed: decimal digits)"},
      {"negative count", "workers: -1\n", "1:10: workers: \"-1\" is not a number (allowed: decimal digits)"},
      {"duration without a unit", "experimental: {epoch: {interval: 50}}\n",
       "1:34: experimental.epoch.interval: \"50\" is not a duration (allowed: a whole number of ms, s, min "
       "or h, such as "
       "50ms)"},
      {"duration out of range", "limits: {scan_time: 1h}\n",
       "1:21: limits.scan_time: \"1h\" is out of range (allowed: 1ms to 10s)"},
      {"no way to sync", "durability:\n  sync: always\n",
       "2:9: durability.sync: \"always\" is not a way to sync (allowed: commit, 10ms to 10s, or never)"},
      {"sync too long", "durability: {sync: 11s}\n",
       "1:20: durability.sync: \"11s\" is not a way to sync (allowed: commit, 10ms to 10s, or never)"},
      {"size out of range in a section of a section", "durability: {checkpoint: {rate: 1KiB}}\n",
       "1:33: durability.checkpoint.rate: \"1KiB\" is out of range (allowed: 64KiB to 1TiB, or unlimited)"},
      {"unknown word", "experimental:\n  prefetch:\n    mode: sometimes\n",
       "3:11: experimental.prefetch.mode: \"sometimes\" is unknown (allowed: off, distance, at_spawn, auto)"},
      {"no boolean", "memory: {numa_placement: maybe}\n",
       "1:26: memory.numa_placement: \"maybe\" is unknown (allowed: false, true)"},
      {"malformed CPU list", "cpus: 3-1\n",
       "1:7: cpus: \"3-1\" is not a list of CPUs (allowed: CPU numbers and ranges such as 0-3,8, or all)"},
      {"list item without a value", "listeners: [null]\n",
       "1:13: listeners[0]: has no value (allowed: an item)"},
      {"malformed listener", "listeners:\n  - localhost:1\n",
       "2:5: listeners[0]: \"localhost:1\" names a host, and names are not looked up (allowed: an address in "
       "numbers and "
       "a port, "
       "such as 127.0.0.1:11211 or [::1]:11211, or unix:PATH)"},
      {"malformed address", "listeners: [{address: nowhere, port: 1}]\n",
       "1:23: listeners[0].address: \"nowhere\" is not an address (allowed: an IPv4 or IPv6 address in "
       "numbers)"},
      {"unix socket without a path", "listeners: [\"unix:\"]\n",
       "1:13: listeners[0]: \"\" is not a valid path of a unix socket (allowed: the path of a unix socket, "
       "such as "
       "/run/mxkv.sock, of at most 107 bytes)"},
      {"malformed mode", "listeners: [{path: /a, mode: rw}]\n",
       "1:30: listeners[0].mode: \"rw\" is not a file mode (allowed: octal digits such as 0660, not all of "
       "them "
       "0)"},
      {"listener on a node without a number", "listeners: [{port: 1, node: near}]\n",
       "1:29: listeners[0].node: \"near\" is not a number (allowed: decimal digits)"},
      {"listener that may or may not ask for a login", "listeners: [{port: 1, auth: maybe}]\n",
       "1:29: listeners[0].auth: \"maybe\" is unknown (allowed: auto, none, required)"},
      {"TLS without a certificate", "listeners: [{port: 1, tls: {key: k.pem}}]\n",
       "1:13: listeners[0]: lacks its key tls.certificate (allowed: a file in PEM)"},
      {"TLS without a key", "listeners: [{port: 1, tls: {certificate: c.pem}}]\n",
       "1:13: listeners[0]: lacks its key tls.key (allowed: a file in PEM)"},
      {"TLS of an old version", "listeners: [{port: 1, tls: {certificate: c, key: k, minimum: 1.1}}]\n",
       "1:62: listeners[0].tls.minimum: \"1.1\" is unknown (allowed: 1.2, 1.3)"},
      {"unknown key of TLS", "listeners: [{port: 1, tls: {cert: c, key: k}}]\n",
       "1:29: listeners[0].tls.cert: an unknown key, did you mean certificate? (allowed: certificate, key, "
       "client_ca, minimum)"},
      {"TLS that is a word", "listeners: [{port: 1, tls: on}]\n",
       "1:28: listeners[0].tls: is not a mapping (allowed: key: value)"},
      {"an empty name of a file", "listeners: [{port: 1, tls: {certificate: \"\", key: k}}]\n",
       "1:42: listeners[0].tls.certificate: is empty (allowed: a file's name)"},
      {"path and port", "listeners: [{path: /a, port: 1}]\n",
       "1:13: listeners[0]: has both a path and an address or port (allowed: one of them)"},
      {"mode without a path", "listeners: [{port: 1, mode: 0660}]\n",
       "1:13: listeners[0]: has a mode, but no path (allowed: mode together with path)"},
      {"empty file name", "server: {pid_file: \"\"}\n",
       "1:20: server.pid_file: is empty (allowed: a file's name, or none)"},
      {"drain time-out without a unit", "server: {drain_timeout: 5}\n",
       "1:25: server.drain_timeout: \"5\" is not a duration (allowed: a whole number of ms, s, min or h, "
       "such as "
       "50ms)"},
      {"log rate", "log: {rate: 0}\n",
       "1:13: log.rate: \"0\" is out of range (allowed: 1 to 1000000, or unlimited)"},
      {"no listener", "listeners: []\n", "1:1: listeners: is an empty list (allowed: at least one item)"},
      {"scalar for a section", "memory: 1GiB\n", "1:9: memory: is not a mapping (allowed: key: value)"},
      {"list for a section", "memory: [1GiB]\n", "1:9: memory: is not a mapping (allowed: key: value)"},
      {"scalar for a list", "listeners: 127.0.0.1:1\n",
       "1:12: listeners: is not a list (allowed: [item, item])"},
      {"list for a scalar", "workers: [1]\n", "1:10: workers: is a list or a mapping (allowed: one value)"},
      {"mapping for a scalar", "log:\n  level: {a: b}\n",
       "2:10: log.level: is a list or a mapping (allowed: one value)"},
      {"nothing for a scalar", "workers:\n", "1:1: workers: has no value (allowed: one value)"},
      {"document that is a list", "- workers: 1\n", "1:1: is not a mapping (allowed: key: value)"},
      {"node without a number", "nodes:\n  - workers: 2\n",
       "2:5: nodes[0]: lacks its key node (allowed: the number of a NUMA node)"},
      {"node with workers and cpus", "nodes: [{node: 0, workers: 2, cpus: 0-1}]\n",
       "1:9: nodes[0]: has both workers and cpus (allowed: one of them)"},
      {"text for a node", "nodes: [0]\n", "1:9: nodes[0]: is not a mapping (allowed: key: value)"},
      {"alias", "log: &a {level: info}\nmemory: *a\n", "2:9: memory: an alias (allowed: values written out)"},
      {"list as key", "? [a]\n: 1\n", "1:3: a key that is a list or a mapping (allowed: plain text)"},
      {"empty key", "~: 1\n", "1:1: an empty key (allowed: plain text)"},
      {"second document", "workers: 1\n---\nworkers: 2\n", "2:1: a second document (allowed: one)"},
  };
  for (const Case& at : cases) {
    EXPECT_EQ(error_of(at.text), with_keys(at.error)) << at.name;
  }
}

TEST(LoadErrors, OfSeveralAllAreToldInTheOrderOfTheText) {
  EXPECT_EQ(error_of("workers: 0\nnonsense: 1\nlimits: {pipeline: 0, pipeline: 1}\nlisteners: []\n"),
            with_keys("1:10: workers: \"0\" is out of range (allowed: 1 to 1024, or auto)\n"
                      "2:1: nonsense: an unknown key (allowed: {top})\n"
                      "3:20: limits.pipeline: \"0\" is out of range (allowed: 1 to 65536)\n"
                      "3:23: limits.pipeline: a repeated key (allowed: once; first in line 3)\n"
                      "4:1: listeners: is an empty list (allowed: at least one item)"));
}

TEST(LoadErrors, TooManyAreCounted) {
  std::string text = "limits:\n";
  for (int i = 0; i < 60; ++i) {
    text += "  nonsense" + std::to_string(i) + ": 1\n";
  }
  const std::string error = error_of(text);
  EXPECT_EQ(std::ranges::count(error, '\n'), 50);
  EXPECT_THAT(error, ::testing::EndsWith("\nand 10 more"));
}

TEST(LoadErrors, OfAFileThatIsSomethingElseTheFirstKeysAreToldAndTheRestCounted) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    text += "key" + std::to_string(i) + ": 1\n";
  }
  const std::string error = error_of(text);
  EXPECT_EQ(std::ranges::count(error, '\n'), 50);
  EXPECT_THAT(error, ::testing::StartsWith("1:1: key0: an unknown key"));
  EXPECT_THAT(error, ::testing::HasSubstr("\n50:1: key49: an unknown key (allowed: "));
  EXPECT_THAT(error, ::testing::EndsWith("\nand 99950 more"));
}

TEST(LoadErrors, WhatATerminalWouldObeyIsSpelledOut) {
  const std::string error = error_of("\"\\e[2J\\x07k\\u009b\": 1\nlimits: {pipeline: \"\\e]0;x\\n\"}\n");
  EXPECT_EQ(std::ranges::count(error, '\n'), 1) << error;
  EXPECT_THAT(error, ::testing::StartsWith("1:1: \\x1b[2J\\x07k\\x9b: an unknown key"));
  EXPECT_THAT(error, ::testing::HasSubstr("\n2:20: limits.pipeline: \"\\x1b]0;x\\x0a\" is not a number"));
  EXPECT_THAT(error_of("\"k\\u00e4se \\u20ac\": 1\n"),
              ::testing::StartsWith("1:1: k\u00e4se \u20ac: an unknown key"))
      << "what people write stays";
}

TEST(LoadErrors, BadSyntaxHasItsPlace) {
  EXPECT_THAT(error_of("memory: {limit: 1GiB\nlog: x\n"), ::testing::MatchesRegex("[23]:[0-9]+: .+"));
  EXPECT_THAT(error_of("workers: 1\n\tcpus: all\n"), ::testing::MatchesRegex("[12]:[0-9]+: .+"));
  EXPECT_THAT(error_of("log: \"never closed\n"), ::testing::MatchesRegex("[12]:[0-9]+: .+"));
}

TEST(LoadErrors, AMissingFileAndADirectoryAreNamed) {
  std::filesystem::path gone;
  {
    const TemporaryFile file{""};
    gone = file.path();
  }
  const runtime::Result<DaemonOptions> missing = load(gone, {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, gone.string() + ": cannot be read: No such file or directory");
  const runtime::Result<DaemonOptions> directory = load(::testing::TempDir(), {});
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().message, ::testing::TempDir() + ": cannot be read: Is a directory");
}

TEST(LoadErrors, OfSetNameTheArgument) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"limits.pipeline=0", "--set limits.pipeline: \"0\" is out of range (allowed: 1 to 65536)"},
      {"limits.pipelin=1",
       "--set limits.pipelin: an unknown key, did you mean pipeline? (allowed: connections, "
       "connections_per_client, requests_per_client, bytes_per_client, value_bytes, "
       "get_line_bytes, "
       "output_high_water, "
       "output_stall, idle_timeout, handshake, keepalive, requests_per_turn, pipeline, locked_items, "
       "scan_items, "
       "scan_bytes, "
       "scan_time, batch_lines, batch_bytes)"},
      {"experimental.prefetch={window: 0}",
       "--set experimental.prefetch: experimental.prefetch.window: \"0\" is out of range (allowed: 1 to "
       "256)"},
      {"listeners=[{port: x}]",
       "--set listeners: listeners[0].port: \"x\" is not a number (allowed: decimal digits)"},
      {"workers=", "--set workers: has no value (allowed: one value)"},
      {"workers.more=1", "--set workers.more: workers: is a list or a mapping (allowed: one value)"},
      {"limits=1", "--set limits: is not a mapping (allowed: key: value)"},
      {"log={level: info, level: off}", "--set log: level: a repeated key (allowed: once)"},
      {"workers", "--set workers: is not an assignment (allowed: path.to.key=value)"},
      {"=1", "--set =1: is not an assignment (allowed: path.to.key=value)"},
      {".a=1", "--set .a=1: is not an assignment (allowed: path.to.key=value)"},
      {"a..b=1", "--set a..b=1: is not an assignment (allowed: path.to.key=value)"},
  };
  for (const auto& [argument, error] : cases) {
    const runtime::Result<DaemonOptions> options = load(std::nullopt, std::vector<std::string>{argument});
    ASSERT_FALSE(options.ok()) << argument;
    EXPECT_EQ(options.error().message, error);
  }
  const runtime::Result<DaemonOptions> syntax = load(std::nullopt, std::vector<std::string>{"listeners=["});
  ASSERT_FALSE(syntax.ok());
  EXPECT_THAT(syntax.error().message, StartsWith("--set listeners: "));
}

}  // namespace
}  // namespace mxkv::config
