// What files and `--set` arguments without mistakes do to the options.
#include "config/load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "config/describe.hpp"
#include "tests/unit/config/fixture.hpp"

namespace mxkv::config {
namespace {

using runtime::PuId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

DaemonOptions load_text(const std::string& text, const std::vector<std::string>& sets = {}) {
  const TemporaryFile file{text};
  runtime::Result<DaemonOptions> options = load(file.path(), sets);
  EXPECT_TRUE(options.ok()) << (options.ok() ? "" : options.error().message);
  return options.ok() ? std::move(options).value() : DaemonOptions{};
}

DaemonOptions load_sets(const std::vector<std::string>& sets) {
  runtime::Result<DaemonOptions> options = load(std::nullopt, sets);
  EXPECT_TRUE(options.ok()) << (options.ok() ? "" : options.error().message);
  return options.ok() ? std::move(options).value() : DaemonOptions{};
}

std::string read_example() {
  std::ostringstream text;
  text << std::ifstream{MXKV_EXAMPLE_CONFIG}.rdbuf();
  return text.str();
}

TEST(Load, NothingGivesTheDefaults) {
  EXPECT_EQ(describe(load_sets({})), describe(DaemonOptions{}));
  EXPECT_EQ(describe(load_text("")), describe(DaemonOptions{}));
  EXPECT_EQ(describe(load_text("# only a comment\n")), describe(DaemonOptions{}));
  EXPECT_THAT(describe(DaemonOptions{}), HasSubstr("listeners = [\"127.0.0.1:11211\"]\n"));
}

TEST(Load, TheExampleFileEqualsTheDefaults) {
  const runtime::Result<DaemonOptions> options = load(MXKV_EXAMPLE_CONFIG, {});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(describe(options.value()), describe(DaemonOptions{}));
}

TEST(Load, TheExampleFileHasEveryKeyUnderAComment) {
  std::istringstream keys{describe(DaemonOptions{})};
  const std::string example = read_example();
  int count = 0;
  for (std::string line; std::getline(keys, line); ++count) {
    const std::string path = line.substr(0, line.find(" ="));
    const std::string key = path.substr(path.rfind('.') + 1);
    const std::string indent(2 * static_cast<std::size_t>(std::ranges::count(path, '.')), ' ');
    EXPECT_THAT(example, HasSubstr("\n" + indent + key + ": ")) << path;
  }
  EXPECT_GT(count, 20);
}

TEST(Load, TheDescriptionOfOptionsLoadsAsTheSameOptions) {
  const DaemonOptions options =
      load_sets({"listeners=[\"[::1]:5\", \"10.0.0.1:6\"]", "cpus=4-6,1", "memory.limit=3GiB",
                 "memory.numa_placement=false", "experimental.prefetch.mode=off", "limits.idle_timeout=7s",
                 "experimental.lock_slots=3", "log.level=trace", "log.file=/tmp/x.log", "spin_rounds=0"});
  std::vector<std::string> sets;
  std::istringstream lines{describe(options)};
  for (std::string line; std::getline(lines, line);) {
    sets.push_back(line.replace(line.find(" = "), 3, "="));
  }
  EXPECT_EQ(describe(load_sets(sets)), describe(options));
}

TEST(Load, AFileSetsEveryKindOfKey) {
  const DaemonOptions options = load_text(R"(
workers: 3
cpus: "0-2"
spin_rounds: 9
memory: {limit: 1GiB, huge_pages: off, numa_placement: false}
listeners:
  - "[::]:7"
  - {address: 0.0.0.0, port: 8}
  - {port: 9}
  - {port: 10, auth: none}
  - {path: /run/in.sock, auth: required}
  - {port: 11, tls: {certificate: a.pem, key: b.pem, client_ca: c.pem, minimum: "1.3"}}
  - port: 12
    tls:
      certificate: d.pem
      key: e.pem
limits:
  connections: 10
  value_bytes: 1GiB
  get_line_bytes: 4KiB
  output_high_water: 8KiB
  output_stall: 1s
  idle_timeout: 2min
  keepalive: 3min
  handshake: 4s
  requests_per_turn: 11
  pipeline: 12
  scan_items: 13
  scan_bytes: 16KiB
  scan_time: 15ms
  batch_lines: 17
  batch_bytes: 2MiB
log: {level: error, file: /var/log/mxkv.log}
experimental:
  order: nls
  order_reach: node
  prefetch: {mode: distance, distance: 24, window: 128}
  epoch: {interval: 20ms, bytes: 1MiB}
  lock_slots: 7
)");
  EXPECT_EQ(options.workers, 3U);
  EXPECT_THAT(options.cpus, ElementsAre(PuId{0}, PuId{1}, PuId{2}));
  EXPECT_EQ(options.spin_rounds, 9U);
  EXPECT_EQ(options.order, runtime::task_order::nls);
  EXPECT_EQ(options.order_reach, runtime::stealing_scope::node);
  EXPECT_EQ(options.memory.limit_bytes, 1ULL << 30U);
  EXPECT_EQ(options.memory.huge_pages, runtime::huge_pages_mode::off);
  EXPECT_FALSE(options.memory.numa_placement);
  EXPECT_EQ(options.prefetch.mode, runtime::prefetch_mode::distance);
  EXPECT_EQ(options.prefetch.distance, 24U);
  EXPECT_EQ(options.prefetch.window, 128U);
  EXPECT_EQ(options.epoch.interval_ms, 20U);
  EXPECT_EQ(options.epoch.advance_bytes, 1U << 20U);
  EXPECT_EQ(options.lock_slots, 7U);
  const TlsOptions both{"a.pem", "b.pem", "c.pem", tls_version::v1_3};
  const TlsOptions server{.certificate = "d.pem", .key = "e.pem"};
  EXPECT_THAT(options.listeners,
              ElementsAre(ListenAddress{"::", 7}, ListenAddress{"0.0.0.0", 8}, ListenAddress{"127.0.0.1", 9},
                          ListenAddress{.port = 10, .auth = listener_auth::none},
                          ListenAddress{.path = "/run/in.sock", .auth = listener_auth::required},
                          ListenAddress{.port = 11, .tls = both}, ListenAddress{.port = 12, .tls = server}));
  EXPECT_EQ(options.limits.connections, 10U);
  EXPECT_EQ(options.limits.value_bytes, 1U << 30U);
  EXPECT_EQ(options.limits.get_line_bytes, 4096U);
  EXPECT_EQ(options.limits.output_high_water, 8192U);
  EXPECT_EQ(options.limits.output_stall_ms, 1000U);
  EXPECT_EQ(options.limits.idle_timeout_ms, 120'000U);
  EXPECT_EQ(options.limits.keepalive_ms, 180'000U);
  EXPECT_EQ(options.limits.handshake_ms, 4000U);
  EXPECT_EQ(options.limits.requests_per_turn, 11U);
  EXPECT_EQ(options.limits.pipeline, 12U);
  EXPECT_EQ(options.limits.scan_items, 13U);
  EXPECT_EQ(options.limits.scan_bytes, 16384U);
  EXPECT_EQ(options.limits.scan_time_ms, 15U);
  EXPECT_EQ(options.limits.batch_lines, 17U);
  EXPECT_EQ(options.limits.batch_bytes, 2U << 20U);
  EXPECT_EQ(options.log.level, log_level::error);
  EXPECT_EQ(options.log.file, "/var/log/mxkv.log");
}

TEST(Load, NodesHaveWorkersOrCpusAndMemory) {
  const DaemonOptions options =
      load_text("nodes:\n  - {node: 0, workers: 2, memory: 1GiB}\n  - {node: 3, cpus: \"8-9\"}\n");
  ASSERT_EQ(options.nodes.size(), 2U);
  EXPECT_EQ(options.nodes[0].node, 0U);
  EXPECT_EQ(options.nodes[0].workers, 2U);
  EXPECT_EQ(options.nodes[0].memory_bytes, 1ULL << 30U);
  EXPECT_EQ(options.nodes[1].node, 3U);
  EXPECT_THAT(options.nodes[1].cpus, ElementsAre(PuId{8}, PuId{9}));
  EXPECT_EQ(options.nodes[1].memory_bytes, 0U);
}

TEST(Load, EmptySectionsAndListsKeepTheDefaults) {
  EXPECT_EQ(describe(load_text("memory:\nlimits:\nnodes:\nlog: {}\n")), describe(DaemonOptions{}));
}

TEST(Load, AByteOrderMarkAtTheBeginningIsSkipped) {
  EXPECT_EQ(load_text("\xef\xbb\xbflog:\n  rate: 77\n").log.rate, 77U);
}

TEST(Load, WordsForFoundOutUndoAFile) {
  const DaemonOptions options =
      load_text("workers: 4\ncpus: \"1\"\nmemory: {limit: 1GiB}\nlog: {file: x}\n",
                {"workers=auto", "cpus=all", "memory.limit=auto", "log.file=stderr"});
  EXPECT_EQ(describe(options), describe(DaemonOptions{}));
}

TEST(Load, SetWinsOverTheFileAndTheLastSetWins) {
  const DaemonOptions options =
      load_text("limits: {pipeline: 5, scan_items: 6}\n", {"limits.pipeline=7", "limits.pipeline=8"});
  EXPECT_EQ(options.limits.pipeline, 8U);
  EXPECT_EQ(options.limits.scan_items, 6U);
}

TEST(Load, SetReplacesAListWhole) {
  const DaemonOptions options =
      load_text("listeners: [\"127.0.0.1:1\", \"127.0.0.1:2\"]\n", {"listeners=[127.0.0.1:3]"});
  EXPECT_THAT(options.listeners, ElementsAre(ListenAddress{"127.0.0.1", 3}));
}

TEST(Load, SetTakesASectionAtOnce) {
  const DaemonOptions options = load_sets({"experimental={prefetch: {mode: off, window: 32}}"});
  EXPECT_EQ(options.prefetch.mode, runtime::prefetch_mode::off);
  EXPECT_EQ(options.prefetch.window, 32U);
}

TEST(LoadFlags, WinOverWhatTheFileSaysOfPlacement) {
  const TemporaryFile file{"nodes:\n  - {node: 0, memory: 25%}\n"};
  const auto flag = [](const char* name, const char* key, const char* text) {
    return std::vector<Flag>{{.name = name, .key = key, .texts = {text}}};
  };
  const DaemonOptions workers = load(file.path(), {}, flag("--workers", "workers", "2")).value();
  EXPECT_EQ(workers.workers, 2U);
  EXPECT_TRUE(workers.nodes.empty()) << "put aside";
  EXPECT_EQ(find_origin(workers.origins, "nodes"), nullptr);
  const DaemonOptions memory = load(file.path(), {}, flag("--memory", "memory.limit", "64MiB")).value();
  ASSERT_EQ(memory.nodes.size(), 1U);
  EXPECT_EQ(memory.nodes[0].memory_percent, 0U) << "the share is put aside, the node is not";
  EXPECT_EQ(memory.memory.limit_bytes, 64ULL << 20U);
  const TemporaryFile sections{"topologies: [{name: a, nodes: [{node: 0, memory: 1GiB}]}]\n"};
  EXPECT_TRUE(load(sections.path(), {}, flag("--cpus", "cpus", "0")).value().topologies.empty());
  EXPECT_EQ(load(sections.path(), {}, flag("--memory", "memory.limit", "50%"))
                .value()
                .topologies[0]
                .nodes[0]
                .memory_bytes,
            0U);
}

TEST(LoadOrigins, NameFileLineSetAndFlag) {
  const TemporaryFile file{"limits:\n  pipeline: 3\nnodes:\n  - {node: 1, cpus: \"2\"}\nlog: {level: off}\n"};
  const std::vector<std::string> sets{"log.level=debug", "experimental.epoch={interval: 7ms}"};
  const std::vector<Flag> flags{
      {.name = "--listen", .key = "listeners", .texts = {"127.0.0.1:1"}, .list = true}};
  const DaemonOptions options = load(file.path(), sets, flags).value();
  const auto who = [&options](std::string_view path) {
    const Origin* origin = find_origin(options.origins, path);
    return origin == nullptr ? std::string{"default"} : to_string(*origin);
  };
  const std::string name = file.path().string();
  EXPECT_EQ(who("limits.pipeline"), name + ":2:13");
  EXPECT_EQ(who("limits.scan_time"), "default");
  EXPECT_EQ(who("nodes[0].cpus"), name + ":4:21");
  EXPECT_EQ(who("nodes[0].memory"), name + ":4:5") << "the entry that leaves it out";
  EXPECT_EQ(who("log.level"), "--set log.level");
  EXPECT_EQ(who("experimental.epoch.interval"), "--set experimental.epoch");
  EXPECT_EQ(who("listeners[0]"), "--listen");
}

TEST(PrintYaml, LoadsAsTheSameOptionsAndSaysWhoSetWhat) {
  const DaemonOptions options = load_text(
      "workers: auto\n"
      "experimental: {balance_window: 9s, epoch: {interval: 9ms}, lock_slots: 3}\n"
      "topologies:\n"
      "  - {name: a, when: {nodes: 2-3, cpus: 8+, memory: 1GiB}, cpus: 0-3, workers: 2}\n"
      "  - {name: b, nodes: [{node: 1, cpus: \"4-5\", memory: 20%,\n"
      "                       experimental: {prefetch: {mode: off, window: 9}}},\n"
      "                      {node: 0, workers: 2, memory: 1GiB, experimental: {prefetch: {mode: auto}}}]}\n",
      {"listeners=[\"[::1]:7\", {path: /run/a.sock, mode: \"0600\", node: 1}, \"unix:/run/b.sock\", "
       "{address: \"::1\", port: 9, node: 0, auth: none}, {path: /run/c.sock, auth: required}, "
       "{port: 10, tls: {certificate: \"a # b\", key: b, client_ca: \"c: d\", minimum: \"1.3\"}}, "
       "{port: 11, tls: {certificate: a, key: b}}, {port: 12, reads: replica}, {port: 14, auth: none, role: "
       "writer}]",
       "cluster={name: c, brokers: [\"b:1\"], peer: \"127.0.0.1:13\"}", "memory.when_full=error",
       "memory.limit=auto"});
  const std::string text = print_yaml(options);
  EXPECT_EQ(describe(load_text(text)), describe(options)) << text;
  EXPECT_THAT(text, HasSubstr("\nspin_rounds: 256                        # default\n"));
  EXPECT_THAT(text, HasSubstr("# --set listeners\n"));
  EXPECT_THAT(text, HasSubstr(".yaml:1:10\n"));
  EXPECT_THAT(text, HasSubstr("\n  balance_window: 9s "));
  EXPECT_THAT(text, HasSubstr("\n  lock_slots: 3 "));
}

TEST(Load, NamesOfFilesSurviveBeingPrinted) {
  const std::vector<std::string> names{
      "/plain/name-1.log",    "a # b", "a: b",   "- a", "%a",   "{a}", "null", "~",
      "quote\" and \\ slash", " a ",   "a\nb\t", "*a",  "\x01", "é"};
  for (const std::string& name : names) {
    DaemonOptions options;
    options.log.file = name;
    options.server.pid_file = name;
    options.listeners = {ListenAddress{.path = "/run/" + name}};
    const std::string text = print_yaml(options);
    const DaemonOptions again = load_text(text);
    EXPECT_EQ(again.log.file, name) << text;
    EXPECT_EQ(again.server.pid_file, name) << text;
    EXPECT_EQ(again.listeners, options.listeners) << text;
  }
}

}  // namespace
}  // namespace mxkv::config
