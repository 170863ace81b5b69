// The section of switches for research: it has all of them, and an error names the new place of a moved switch, or says
// why one was removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "config/describe.hpp"
#include "config/load.hpp"
#include "tests/unit/config/fixture.hpp"

namespace mxkv::config {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kSection = "experimental.";

struct Switch {
  std::string former;  // its path before it moved into the section
  std::string value;   // its default
};

// Every key of the section, by the schema.
std::vector<Switch> switches() {
  std::vector<Switch> all;
  std::istringstream lines{describe(DaemonOptions{})};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kSection)) {
      const std::size_t equals = line.find(" = ");
      all.push_back({line.substr(kSection.size(), equals - kSection.size()), line.substr(equals + 3)});
    }
  }
  return all;
}

// "a.b" and "v" as the text of a file.
std::string as_file(const std::string& path, const std::string& value) {
  const std::size_t dot = path.find('.');
  return dot == std::string::npos
             ? path + ": " + value + "\n"
             : path.substr(0, dot) + ":\n  " + path.substr(dot + 1) + ": " + value + "\n";
}

std::string mistakes_of(const std::string& text) {
  const TemporaryFile file{text};
  const runtime::Result<DaemonOptions> options = load(file.path(), {});
  if (options.ok()) {
    return "none";
  }
  std::string error = options.error().message;
  const std::string name = file.path().string() + ":";
  for (std::size_t at = 0; (at = error.find(name, at)) != std::string::npos;) {
    error.erase(at, name.size());
  }
  return error;
}

TEST(Experimental, HasTheSwitchesForResearch) {
  std::vector<std::string> paths;
  for (const Switch& one : switches()) {
    paths.push_back(one.former);
  }
  EXPECT_THAT(paths,
              ElementsAre("order", "order_reach", "balance_window", "prefetch.mode", "prefetch.distance",
                          "prefetch.window", "epoch.interval", "epoch.bytes", "lock_slots"));
}

// What the section no longer has, and the error's text.
constexpr std::array<std::array<std::string_view, 3>, 8> kRemoved{{
    {"rebalance", "{strategy: pools}",
     "server.balance moves connections, and nothing else moves to another worker"},
    {"rebalance", "off", "server.balance moves connections, and nothing else moves to another worker"},
    {"offer_reads", "idle", "server.balance moves whole connections to idle workers"},
    {"epoch.mode", "batched", "a worker always publishes its epoch once for many tasks"},
    {"index", "{leaves: auto}",
     "all nodes have optimistic latches, on the NUMA node whose worker makes them"},
    {"pools", "7", "only changes of the root are bound to a pool"},
    {"stealing", "node", "only changes of the root are bound to a pool that could be stolen"},
    {"toggle", "{order: toggle}", "one queue orders operations on many keys, and lock_slots says how finely"},
}};

TEST(Experimental, ARemovedSwitchIsOneErrorThatSaysWhyAndWhatToDo) {
  for (const auto& [path, value, why] : kRemoved) {
    const std::string key{path};
    const std::string name = "experimental." + key;
    const std::string what = ": was removed: " + std::string{why} + " (delete the key)";
    const std::size_t dot = key.find('.');
    const std::string file = dot == std::string::npos
                                 ? "experimental:\n  " + key + ": " + std::string{value} + "\n"
                                 : "experimental:\n  " + key.substr(0, dot) + ": {" + key.substr(dot + 1) +
                                       ": " + std::string{value} + "}\n";
    const std::string place = dot == std::string::npos ? "2:3: " : "2:" + std::to_string(dot + 6) + ": ";
    EXPECT_EQ(mistakes_of(file), place + name + what);
    EXPECT_EQ(mistakes_of(as_file(key, std::string{value})),
              (dot == std::string::npos ? "1:1: " : "2:3: ") + key + what)
        << "the place before the section";
    const runtime::Result<DaemonOptions> set =
        load(std::nullopt, std::vector<std::string>{name + "=" + std::string{value}});
    ASSERT_FALSE(set.ok()) << name;
    EXPECT_EQ(set.error().message, "--set " + name + what);
  }
}

TEST(Experimental, EachFormerPlaceInAFileIsAnErrorThatNamesTheNewOne) {
  for (const Switch& one : switches()) {
    const std::string place = one.former.find('.') == std::string::npos ? "1:1: " : "2:3: ";
    EXPECT_EQ(mistakes_of(as_file(one.former, one.value)),
              place + one.former + ": is now experimental." + one.former);
  }
}

TEST(Experimental, EachFormerPlaceInSetIsAnErrorThatNamesTheNewOne) {
  for (const Switch& one : switches()) {
    const runtime::Result<DaemonOptions> old =
        load(std::nullopt, std::vector<std::string>{one.former + "=" + one.value});
    ASSERT_FALSE(old.ok()) << one.former;
    EXPECT_EQ(old.error().message, "--set " + one.former + ": is now experimental." + one.former);
    const runtime::Result<DaemonOptions> now =
        load(std::nullopt, std::vector<std::string>{"experimental." + one.former + "=" + one.value});
    EXPECT_TRUE(now.ok()) << now.error().message;
  }
}

TEST(Experimental, FormerPlacesAreToldWithAllOtherMistakes) {
  EXPECT_EQ(
      mistakes_of("order: las\nprefetch: {mode: off, window: 7}\nepoch:\nindex: 5\nlog: {rate: 0}\n"
                  "nodes: [{node: 0, pools: 3, prefetch: {mode: off}}]\n"),
      "1:1: order: is now experimental.order\n"
      "2:12: prefetch.mode: is now experimental.prefetch.mode\n"
      "2:23: prefetch.window: is now experimental.prefetch.window\n"
      "3:1: epoch: is now experimental.epoch\n"
      "4:1: index: was removed: all nodes have optimistic latches, on the NUMA node whose worker makes them "
      "(delete the key)\n"
      "5:13: log.rate: \"0\" is out of range (allowed: 1 to 1000000, or unlimited)\n"
      "6:19: nodes[0].pools: was removed: only changes of the root are bound to a pool (delete the key)\n"
      "6:40: nodes[0].prefetch.mode: is now nodes[0].experimental.prefetch.mode");
}

TEST(Experimental, IsTheLastSectionAndEachSwitchHasALineOfComment) {
  std::istringstream lines{[] {
    std::ostringstream text;
    text << std::ifstream{MXKV_EXAMPLE_CONFIG}.rdbuf();
    return text.str();
  }()};
  std::string before;
  std::size_t switches_seen = 0;
  bool inside = false;
  for (std::string line; std::getline(lines, line); before = line) {
    inside = inside || line == "experimental:";
    const std::size_t begin = line.find_first_not_of(' ');
    if (!inside || line == "experimental:" || begin == std::string::npos || line[begin] == '#') {
      continue;
    }
    EXPECT_GE(begin, 2U) << "another section follows: " << line;
    if (!line.ends_with(":")) {
      ++switches_seen;
      EXPECT_EQ(before.find_first_of('#'), begin) << line;
    }
  }
  EXPECT_EQ(switches_seen, switches().size());
}

}  // namespace
}  // namespace mxkv::config
