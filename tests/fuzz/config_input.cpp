// Configurations: whatever the text, there are options or findings, and options survive being printed.
#include <array>
#include <optional>
#include <string>

#include "config/describe.hpp"
#include "config/load.hpp"
#include "config/reader.hpp"
#include "config/resolve.hpp"
#include "config/users.hpp"
#include "config/yaml.hpp"
#include "runtime/topology/build.hpp"
#include "tests/fuzz/inputs.hpp"

namespace mxkv::fuzz {
namespace {

using config::DaemonOptions;
using config::Finding;
using config::Findings;
using config::Loaded;

const std::string kFile = "fuzzed.yaml";

Loaded read_text(const std::string& text) {
  Loaded loaded;
  config::apply(config::parse_yaml(text, kFile, config::places::lines, loaded.findings), loaded.options,
                loaded.findings);
  return loaded;
}

/// Invented machines that the options are tried on.
const std::array<runtime::Topology, 2>& machines() {
  static const std::array<runtime::Topology, 2> kMachines{
      runtime::topology_from_synthetic("Package:1 [NUMANode(memory=8GiB)] L3Cache:1 Core:2 PU:1").value(),
      runtime::topology_from_synthetic("Package:2 [NUMANode(memory=64GiB)] L3Cache:1 Core:8 PU:2").value()};
  return kMachines;
}

/// Messages about mistakes must help to find them.
std::string judge_findings(const Findings& findings, bool of_file) {
  for (const Finding& finding : findings) {
    if (finding.what.empty() || finding.origin.source.empty()) {
      return "a finding without a word or a place";
    }
    if (of_file && (finding.origin.line == 0 || finding.origin.column == 0)) {
      return "a finding without a line: " + to_string(finding);
    }
  }
  return to_error(findings).message.empty() ? "findings without a message" : "";
}

std::string judge_options(const DaemonOptions& options) {
  const std::string printed = config::print_yaml(options);
  const Loaded again = read_text(printed);
  if (!again.findings.empty()) {
    return "printed and refused: " + to_error(again.findings).message + "\n" + printed;
  }
  if (describe(again.options) != describe(options)) {
    return "printed and read as something else:\n" + describe(options) + "\nand\n" + describe(again.options);
  }
  for (const runtime::Topology& machine : machines()) {
    Findings findings;
    const config::Resolved resolved = config::resolve(options, machine, config::facts_of(machine), findings);
    if (findings.empty() && (resolved.runtime.workers.empty() || resolved.runtime.memory.limit_bytes == 0)) {
      return "resolved without findings, and without workers or memory";
    }
    for (const Finding& finding : findings) {
      if (finding.what.empty()) {
        return "a misfit without a word";
      }
    }
  }
  return {};
}

std::string judge(const Loaded& loaded, bool of_file) {
  return loaded.findings.empty() ? judge_options(loaded.options) : judge_findings(loaded.findings, of_file);
}

// As a file of users: some users, or findings that say why not. No message shows a password.
std::string check_users(const std::string& text) {
  Findings findings;
  const config::UsersFile file = config::parse_users(text, kFile, findings);
  if (file.users.empty() && findings.empty()) {
    return "neither users nor findings";
  }
  for (const config::UserOptions& user : file.users) {
    if (user.name.empty() || user.name.find(' ') != std::string::npos ||
        (!user.hashed && user.name.size() + user.password.size() + 1 > config::kMostLoginBytes)) {
      return "a user who cannot log in";
    }
    if (user.role == config::user_role::administrator && !user.prefixes.empty()) {
      return "an administrator with prefixes";
    }
  }
  return findings.empty() ? "" : judge_findings(findings, false);
}

}  // namespace

std::string check_config_input(std::string_view input) {
  const std::string text{input};
  std::string wrong = judge(read_text(text), true);
  if (wrong.empty()) {
    const std::array<std::string, 1> sets{text.substr(0, text.find('\n'))};
    wrong = judge(config::read_options(std::nullopt, sets, {}), false);
  }
  return wrong.empty() ? check_users(text) : wrong;
}

}  // namespace mxkv::fuzz
