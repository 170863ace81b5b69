// Keys for the workers and their places: at the top, of a node, and of a topology.
#include <algorithm>
#include <optional>

#include "config/schema_forms.hpp"
#include "config/yaml_text.hpp"

namespace mxkv::config {
namespace {

using runtime::Error;

constexpr std::array<std::string_view, 5> kPrefetchChangeWords{"inherit", "off", "distance", "at_spawn",
                                                               "auto"};

std::string in_braces(const std::vector<std::pair<std::string_view, std::string>>& members) {
  std::string text;
  for (const auto& [key, value] : members) {
    text.append(text.empty() ? "" : ", ").append(key).append(": ").append(value);
  }
  return "{" + text + "}";
}

std::string format_prefetch(const PrefetchChanges& changes) {
  std::vector<std::pair<std::string_view, std::string>> members;
  if (changes.mode) {
    members.emplace_back("mode", kPrefetchWords[static_cast<std::size_t>(*changes.mode)]);
  }
  if (changes.distance) {
    members.emplace_back("distance", std::to_string(*changes.distance));
  }
  if (changes.window) {
    members.emplace_back("window", std::to_string(*changes.window));
  }
  return in_braces(members);
}

std::string format_node(const NodeOptions& node) {
  std::vector<std::pair<std::string_view, std::string>> members{{"node", std::to_string(node.node)}};
  if (node.workers != 0) {
    members.emplace_back("workers", std::to_string(node.workers));
  }
  if (!node.cpus.empty()) {
    members.emplace_back("cpus", in_quotes(format_cpu_list(node.cpus)));
  }
  if (node.memory_bytes != 0 || node.memory_percent != 0) {
    members.emplace_back("memory", format_memory({node.memory_bytes, node.memory_percent}));
  }
  std::vector<std::pair<std::string_view, std::string>> experimental;
  if (node.prefetch != PrefetchChanges{}) {
    experimental.emplace_back("prefetch", format_prefetch(node.prefetch));
  }
  if (!experimental.empty()) {
    members.emplace_back("experimental", in_braces(experimental));
  }
  return in_braces(members);
}

// 0 stands for "inherit", and cannot be written as a number.
void change(SchemaVisitor& visitor, std::string_view name, std::optional<std::uint32_t>& target,
            std::uint32_t most) {
  std::uint32_t value = target.value_or(0);
  ranged(visitor, name, value, kCount, {1, most, "inherit"});
  target = value == 0 ? std::nullopt : std::optional{value};
}

void show_prefetch_changes(SchemaVisitor& visitor, PrefetchChanges& target) {
  int word = target.mode ? static_cast<int>(*target.mode) + 1 : 0;
  choice(visitor, "mode", word, kPrefetchChangeWords);
  if (word != 0) {
    target.mode = static_cast<runtime::prefetch_mode>(word - 1);
  }
  change(visitor, "distance", target.distance, kMostDistance);
  change(visitor, "window", target.window, kMostWindow);
}

void show_nodes(SchemaVisitor& visitor, std::vector<NodeOptions>& target) {
  const auto add_mapping = [&target](SchemaVisitor& item) -> Mistake {
    constexpr std::uint32_t kMissing = std::numeric_limits<std::uint32_t>::max();
    NodeOptions node;
    node.node = kMissing;
    ranged(item, "node", node.node, kCount, {0, kMostNodes - 1});
    ranged(item, "workers", node.workers, kCount, {1, kMostWorkers, "auto"});
    cpu_list(item, "cpus", node.cpus);
    memory_amount(item, "memory", node.memory_bytes, node.memory_percent);
    show_experimental(item, [&node](SchemaVisitor& section) {
      section.section("prefetch",
                      [&node](SchemaVisitor& inner) { show_prefetch_changes(inner, node.prefetch); });
      section.removed("pools", "only changes of the root are bound to a pool");
    });
    if (node.node == kMissing) {
      return Error{"lacks its key node (allowed: the number of a NUMA node)"};
    }
    if (node.workers != 0 && !node.cpus.empty()) {
      return Error{"has both workers and cpus (allowed: one of them)"};
    }
    target.push_back(std::move(node));
    return {};
  };
  const auto set_text = [&target](std::string_view text) -> Mistake {
    if (text != "auto") {
      return Error{in_quotes(text) + " is not a list of nodes (allowed: auto, or [{node: 0, ...}, ...])"};
    }
    target.clear();
    return {};
  };
  visitor.list("nodes", ListField{.least_items = 0,
                                  .clear = [&target] { target.clear(); },
                                  .set_text = set_text,
                                  .add_text = {},
                                  .add_mapping = add_mapping,
                                  .items = [&target] { return format_items(target, format_node); },
                                  .none = "auto"});
}

void count_range(SchemaVisitor& visitor, std::string_view name, CountRange& target) {
  visitor.scalar(name, ScalarField{.set = [&target](std::string_view text) -> Mistake {
                                     const runtime::Result<CountRange> range = parse_count_range(text);
                                     if (!range) {
                                       return range.error();
                                     }
                                     target = range.value();
                                     return {};
                                   },
                                   .get = [&target] { return format_count_range(target); }});
}

void show_name(SchemaVisitor& visitor, std::string& target) {
  visitor.scalar(
      "name",
      ScalarField{.set = [&target](std::string_view text) -> Mistake {
                    constexpr std::string_view kLetters =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
                    if (text.empty() || text.find_first_not_of(kLetters) != std::string_view::npos) {
                      return Error{in_quotes(text) + " is not a name (allowed: letters, digits, . _ -)"};
                    }
                    target = text;
                    return {};
                  },
                  .get = [&target] { return target; }});
}

std::string format_topology(const TopologySection& section) {
  std::vector<std::pair<std::string_view, std::string>> when;
  if (section.when.nodes != CountRange{}) {
    when.emplace_back("nodes", format_count_range(section.when.nodes));
  }
  if (section.when.cpus != CountRange{}) {
    when.emplace_back("cpus", format_count_range(section.when.cpus));
  }
  if (section.when.memory_bytes != 0) {
    when.emplace_back("memory", format_size(section.when.memory_bytes));
  }
  std::vector<std::pair<std::string_view, std::string>> members{{"name", to_yaml(section.name)},
                                                                {"when", in_braces(when)}};
  if (section.workers != 0) {
    members.emplace_back("workers", std::to_string(section.workers));
  }
  if (!section.cpus.empty()) {
    members.emplace_back("cpus", in_quotes(format_cpu_list(section.cpus)));
  }
  std::string nodes;
  for (const NodeOptions& node : section.nodes) {
    nodes.append(nodes.empty() ? "" : ", ").append(format_node(node));
  }
  members.emplace_back("nodes", nodes.empty() ? "auto" : "[" + nodes + "]");
  return in_braces(members);
}

// Checks a new section against those before it.
Mistake among(const std::vector<TopologySection>& before, const TopologySection& section) {
  if (section.name.empty()) {
    return Error{"lacks its key name (allowed: a name of its own)"};
  }
  for (const TopologySection& other : before) {
    if (other.name == section.name) {
      return Error{"the name " + section.name + " is taken (allowed: a name of its own)"};
    }
    if (other.when == TopologyCondition{}) {
      return Error{"is never used, because " + other.name +
                   " before it fits every machine (allowed: a topology without when only as the last)"};
    }
  }
  return {};
}

}  // namespace

void show_placement(SchemaVisitor& visitor, PlacementOptions& target) {
  ranged(visitor, "workers", target.workers, kCount, {1, kMostWorkers, "auto"});
  cpu_list(visitor, "cpus", target.cpus);
  show_nodes(visitor, target.nodes);
}

void show_topologies(SchemaVisitor& visitor, std::vector<TopologySection>& target) {
  const auto add_mapping = [&target](SchemaVisitor& item) -> Mistake {
    TopologySection section;
    show_name(item, section.name);
    item.section("when", [&section](SchemaVisitor& inner) {
      count_range(inner, "nodes", section.when.nodes);
      count_range(inner, "cpus", section.when.cpus);
      ranged(inner, "memory", section.when.memory_bytes, kSize, {1, kMostMemory, "any"});
    });
    show_placement(item, section);
    Mistake mistake = among(target, section);
    target.push_back(std::move(section));
    return mistake;
  };
  visitor.list("topologies", ListField{.least_items = 0,
                                       .clear = [&target] { target.clear(); },
                                       .set_text = {},
                                       .add_text = {},
                                       .add_mapping = add_mapping,
                                       .items = [&target] { return format_items(target, format_topology); }});
}

}  // namespace mxkv::config
