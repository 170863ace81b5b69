// Files and `--set` arguments become Values, and these are applied one after the other.
#include "config/load.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "config/reader.hpp"
#include "config/yaml.hpp"

namespace mxkv::config {
namespace {

using runtime::Error;
using runtime::Result;

Result<std::string> read_file(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream stream{file, std::ios::binary};
  std::ostringstream text;
  if (stream) {
    text << stream.rdbuf();
  }
  // Reading nothing sets failbit on `text`; a directory opens, and fails on reading.
  if (!stream || stream.bad() || errno == EISDIR) {
    return Error{file.string() + ": cannot be read: " + std::strerror(errno != 0 ? errno : EIO)};
  }
  return text.str();
}

// "a.b=v" as the mapping {a: {b: v}}, all of it in the place "--set a.b".
Result<Value> parse_set(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const std::string path = argument.substr(0, equals);
  const std::string source = "--set " + path;
  if (equals == std::string::npos || path.empty() || path.front() == '.' || path.back() == '.' ||
      path.find("..") != std::string::npos) {
    return Error{"--set " + argument + ": is no assignment (allowed: path.to.key=value)"};
  }
  Result<Value> parsed = parse_yaml(argument.substr(equals + 1), source, places::none);
  if (!parsed) {
    return parsed.error();
  }
  Value value = std::move(parsed).value();
  for (std::size_t end = path.size(); end != std::string::npos;) {
    const std::size_t dot = path.rfind('.', end - 1);
    const std::size_t begin = dot == std::string::npos ? 0 : dot + 1;
    Member member{.key = path.substr(begin, end - begin),
                  .origin = Origin{.source = source},
                  .value = std::move(value)};
    value = Value{.kind = value_kind::mapping,
                  .origin = Origin{.source = source},
                  .text = {},
                  .items = {},
                  .members = {}};
    value.members.push_back(std::move(member));
    end = dot;
  }
  return value;
}

}  // namespace

Result<DaemonOptions> load(const std::optional<std::filesystem::path>& file,
                           std::span<const std::string> sets) {
  DaemonOptions options;
  if (file) {
    const Result<std::string> text = read_file(*file);
    if (!text) {
      return text.error();
    }
    const Result<Value> root = parse_yaml(text.value(), file->string(), places::lines);
    if (!root) {
      return root.error();
    }
    if (const Mistake mistake = apply(root.value(), options)) {
      return *mistake;
    }
  }
  for (const std::string& argument : sets) {
    const Result<Value> root = parse_set(argument);
    if (!root) {
      return root.error();
    }
    if (const Mistake mistake = apply(root.value(), options)) {
      return *mistake;
    }
  }
  return options;
}

}  // namespace mxkv::config
