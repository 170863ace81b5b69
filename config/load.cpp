// Turns files, `--set` arguments and flags into Values, and applies these in turn.
#include "config/load.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "config/reader.hpp"
#include "config/yaml.hpp"

namespace mxkv::config {
namespace {

// The text of a file, or the reason why it cannot be read.
std::string read_file(const std::filesystem::path& file, Findings& findings) {
  errno = 0;
  std::ifstream stream{file, std::ios::binary};
  std::ostringstream text;
  if (stream) {
    text << stream.rdbuf();
  }
  // Reading nothing sets failbit on `text`; a directory opens, and fails on reading.
  if (!stream || stream.bad() || errno == EISDIR) {
    findings.push_back({Origin{.source = file.string()}, "",
                        std::string{"cannot be read: "} + std::strerror(errno != 0 ? errno : EIO)});
    return {};
  }
  return text.str();
}

Value make(value_kind kind, const std::string& source) {
  Value value;
  value.kind = kind;
  value.origin = Origin{.source = source};
  return value;
}

// `value` at the path a.b as the mapping {a: {b: value}}.
Value nested(const std::string& path, Value value, const std::string& source) {
  for (std::size_t end = path.size(); end != std::string::npos;) {
    const std::size_t dot = path.rfind('.', end - 1);
    const std::size_t begin = dot == std::string::npos ? 0 : dot + 1;
    Member member{.key = path.substr(begin, end - begin),
                  .origin = Origin{.source = source},
                  .value = std::move(value)};
    value = make(value_kind::mapping, source);
    value.members.push_back(std::move(member));
    end = dot;
  }
  return value;
}

bool is_path(const std::string& path) {
  return !path.empty() && path.front() != '.' && path.back() != '.' && path.find("..") == std::string::npos;
}

// "a.b=v" as the mapping {a: {b: v}}, all of it in the place "--set a.b".
Value parse_set(const std::string& argument, Findings& findings) {
  const std::size_t equals = argument.find('=');
  const std::string path = argument.substr(0, equals);
  if (equals == std::string::npos || !is_path(path)) {
    findings.push_back(
        {Origin{.source = "--set " + argument}, "", "is not an assignment (allowed: path.to.key=value)"});
    return make(value_kind::broken, "");
  }
  const std::string source = "--set " + path;
  return nested(path, parse_yaml(argument.substr(equals + 1), source, places::none, findings), source);
}

Value from_flag(const Flag& flag) {
  Value list = make(value_kind::list, flag.name);
  for (const std::string& text : flag.texts) {
    list.items.push_back(make(value_kind::scalar, flag.name));
    list.items.back().text = text;
  }
  return nested(flag.key, flag.list || list.items.empty() ? std::move(list) : list.items.front(), flag.name);
}

bool from_file(const Origins& origins, std::string_view path) {
  const Origin* origin = find_origin(origins, path);
  return origin != nullptr && origin->line != 0;
}

void drop_shares(std::vector<NodeOptions>& nodes) {
  for (NodeOptions& node : nodes) {
    node.memory_bytes = 0;
    node.memory_percent = 0;
  }
}

// Removes from `options` the file's values that the stronger `root` overrides.
void drop_overridden(const Value& root, DaemonOptions& options) {
  const auto says = [&root](std::string_view key) {
    return std::ranges::find(root.members, key, &Member::key) != root.members.end();
  };
  const auto drop = [&options](std::string_view path, auto& value) {
    if (from_file(options.origins, path)) {
      value = {};
      forget_origins(options.origins, path);
    }
  };
  const bool simple = says("workers") || says("cpus");
  if (says("nodes") || says("topologies")) {
    drop("workers", options.workers);
    drop("cpus", options.cpus);
  }
  if (simple || says("topologies")) {
    drop("nodes", options.nodes);
  }
  if (simple || says("nodes")) {
    drop("topologies", options.topologies);
  }
  const auto memory = std::ranges::find(root.members, "memory", &Member::key);
  if (memory == root.members.end() ||
      std::ranges::find(memory->value.members, "limit", &Member::key) == memory->value.members.end()) {
    return;
  }
  if (from_file(options.origins, "nodes")) {
    drop_shares(options.nodes);
  }
  for (TopologySection& section : options.topologies) {
    if (from_file(options.origins, "topologies")) {
      drop_shares(section.nodes);
    }
  }
}

}  // namespace

Loaded read_options(const std::optional<std::filesystem::path>& file, std::span<const std::string> sets,
                    std::span<const Flag> flags) {
  Loaded loaded;
  if (file) {
    const std::string text = read_file(*file, loaded.findings);
    apply(parse_yaml(text, file->string(), places::lines, loaded.findings), loaded.options, loaded.findings);
  }
  for (const std::string& argument : sets) {
    const Value root = parse_set(argument, loaded.findings);
    drop_overridden(root, loaded.options);
    apply(root, loaded.options, loaded.findings);
  }
  for (const Flag& flag : flags) {
    const Value root = from_flag(flag);
    drop_overridden(root, loaded.options);
    apply(root, loaded.options, loaded.findings);
  }
  return loaded;
}

Loaded with_option(DaemonOptions options, const std::string& path, const std::string& text,
                   const std::string& source) {
  Loaded loaded{.options = std::move(options), .findings = {}};
  if (!is_path(path)) {
    loaded.findings.push_back(
        {Origin{.source = source}, "", "is not an assignment (allowed: path.to.key and a value)"});
    return loaded;
  }
  const Value root = nested(path, parse_yaml(text, source, places::none, loaded.findings), source);
  drop_overridden(root, loaded.options);
  apply(root, loaded.options, loaded.findings);
  return loaded;
}

runtime::Result<DaemonOptions> load(const std::optional<std::filesystem::path>& file,
                                    std::span<const std::string> sets, std::span<const Flag> flags) {
  Loaded loaded = read_options(file, sets, flags);
  if (!loaded.findings.empty()) {
    return to_error(std::move(loaded.findings));
  }
  return std::move(loaded.options);
}

}  // namespace mxkv::config
