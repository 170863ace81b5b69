// Judges a history of clients of a real cluster: whether it can be explained, key by key, by operations that each took
// effect at one moment between invocation and answer. The search is the one of tests/simulation.
//
//   judge_history FILE    lines of JSON, as history.py writes them; exit code 0: explained, 1: not, 2: not a history,
//                         3: no contradiction, but the search for some key was given up
//
// It leaves out operations that are known not to have been done. Operations of unknown outcome stay open to the end.
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tests/simulation/store_history.hpp"

namespace mxkv::simulation {
namespace {

constexpr std::size_t kMostConfigurations = 2'000'000;
constexpr std::size_t kMostText = 6000;

act act_of(std::string_view name) {
  static const std::map<std::string_view, act> kActs{{"get", act::get},
                                                     {"set", act::set},
                                                     {"cas", act::set},
                                                     {"incr", act::count_up},
                                                     {"delete", act::remove}};
  return kActs.at(name);
}

told told_of(std::string_view name) {
  static const std::map<std::string_view, told> kReplies{
      {"done", told::done}, {"missing", told::missing}, {"exists", told::exists}};
  return kReplies.at(name);
}

Operation operation_of(const nlohmann::json& entry) {
  CommandLine line{.what = act_of(entry.at("op").get<std::string>()), .key = 0};
  line.operand = entry.value("value", std::uint64_t{0});
  if (entry.at("op") == "cas") {
    line.compare = entry.at("compare").get<std::uint64_t>();
    line.expects = entry.at("expect").get<std::uint64_t>();
  }
  Operation op;
  op.invoked = entry.at("invoked").get<std::uint64_t>();
  if (entry.at("outcome") == "ok") {
    op.end = ending::done;
    op.responded = entry.at("returned").get<std::uint64_t>();
    line.reply = told_of(entry.at("result").get<std::string>());
    line.cas = entry.value("unique", std::uint64_t{0});
    if (entry.contains("number")) {
      line.number = entry.at("number").get<std::uint64_t>();
    }
  }
  op.lines.push_back(line);
  return op;
}

int judge(std::istream& file) {
  std::map<std::string, StoreHistory> keys;
  std::uint64_t unknown = 0;
  for (std::string text; std::getline(file, text);) {
    const nlohmann::json entry = nlohmann::json::parse(text);
    if (entry.at("outcome") == "failed" || (entry.at("outcome") == "unknown" && entry.at("op") == "get")) {
      continue;
    }
    unknown += entry.at("outcome") == "unknown" ? 1 : 0;
    const auto [at, first] = keys.try_emplace(entry.at("key").get<std::string>(), KeyStates{}, false);
    at->second.set_patience(kMostConfigurations);
    at->second.add(operation_of(entry));
  }
  std::size_t operations = 0;
  std::size_t wrong = 0;
  std::size_t given_up = 0;
  for (const auto& [name, history] : keys) {
    operations += history.size();
    const auto contradiction = history.contradiction();
    given_up += history.given_up() != 0 ? 1 : 0;
    if (contradiction) {
      ++wrong;
      std::cout << "key " << name << " cannot be explained: " << contradiction->substr(0, kMostText) << '\n';
    } else if (history.given_up() != 0) {
      std::cout << "key " << name << ": the search was given up\n";
    }
  }
  std::cout << keys.size() << " keys, " << operations << " operations, " << unknown
            << " of unknown outcome: " << wrong << " keys cannot be explained, " << given_up
            << " were given up\n";
  if (wrong != 0) {
    return 1;
  }
  return given_up == 0 ? 0 : 3;
}

}  // namespace
}  // namespace mxkv::simulation

int main(int count, char** arguments) {
  try {
    if (count != 2) {
      throw std::invalid_argument{"usage: judge_history FILE"};
    }
    std::ifstream file{arguments[1]};
    if (!file) {
      throw std::invalid_argument{std::string{"cannot be read: "} + arguments[1]};
    }
    return mxkv::simulation::judge(file);
  } catch (const std::exception& e) {
    std::cerr << "judge_history: " << e.what() << '\n';
    return 2;
  }
}
