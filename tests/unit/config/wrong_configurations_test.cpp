// The table of wrong configurations, each read and checked against an invented machine.
#include "tests/unit/config/wrong_configurations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "config/describe.hpp"
#include "config/load.hpp"
#include "config/resolve.hpp"
#include "runtime/topology/build.hpp"
#include "tests/unit/config/fixture.hpp"

namespace mxkv::config {
namespace {

// The keys of the whole file, or of one section, as an error lists them.
std::string keys_of(const std::string& section) {
  std::istringstream lines{describe(DaemonOptions{})};
  std::string all;
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    const bool inside = line.starts_with(section + ".");
    const std::string rest = inside ? line.substr(section.size() + 1) : line;
    const std::string key = rest.substr(0, rest.find_first_of(". "));
    if (key != last && (inside || section.empty())) {
      all.append(all.empty() ? "" : ", ").append(key);
      last = key;
    }
  }
  return all;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// All mistakes, without the file's name. The machine is checked, too, if the text itself has no mistake.
std::string errors_of(const std::string& text, const runtime::Topology& topology) {
  const TemporaryFile file{text};
  Loaded loaded = read_options(file.path(), {}, {});
  add_misfits(loaded, topology, facts_of(topology));
  return loaded.findings.empty()
             ? "none"
             : replaced(to_error(loaded.findings).message, file.path().string() + ":", "");
}

TEST(WrongConfigurations, AreToldAllAtOnceWithPlaceKeyMistakeAndWhatIsAllowed) {
  const runtime::Topology topology =
      runtime::topology_from_synthetic("Package:2 [NUMANode(memory=8GiB)] L3Cache:1 Core:4 PU:1").value();
  std::set<std::string> texts;
  for (const WrongConfiguration& wrong : kWrongConfigurations) {
    const std::string expected =
        replaced(replaced(wrong.errors, "{top}", keys_of("")), "{limits}", keys_of("limits"));
    EXPECT_EQ(errors_of(wrong.text, topology), expected) << wrong.what;
    texts.insert(wrong.text);
  }
  EXPECT_EQ(texts.size(), kWrongConfigurations.size()) << "each is another one";
  EXPECT_GE(kWrongConfigurations.size(), 60U);
}

}  // namespace
}  // namespace mxkv::config
