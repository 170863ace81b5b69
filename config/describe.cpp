// The visitor that writes: options as flat text for comparing them, and as a file with the origin of each
// value.
#include "config/describe.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/schema.hpp"
#include "config/yaml_text.hpp"

namespace mxkv::config {
namespace {

struct Line {
  std::string path;  // of the key, with its sections
  std::string text;  // of the value
  std::vector<std::string> items;
  bool list = false;
};

class Writer final : public SchemaVisitor {
 public:
  explicit Writer(std::vector<Line>& lines) : lines_(lines) {}

  void section(std::string_view name, const std::function<void(SchemaVisitor&)>& body) override {
    const std::string outer = prefix_;
    prefix_.append(name).append(".");
    body(*this);
    prefix_ = outer;
  }
  void scalar(std::string_view name, const ScalarField& field) override {
    lines_.push_back({prefix_ + std::string{name}, field.get(), {}, false});
  }
  void list(std::string_view name, const ListField& field) override {
    Line line{prefix_ + std::string{name}, std::string{field.none}, field.items(), true};
    std::string all;
    for (const std::string& item : line.items) {
      all.append(all.empty() ? "" : ", ").append(item);
    }
    if (!all.empty()) {
      line.text = "[" + all + "]";
    }
    lines_.push_back(std::move(line));
  }
  void names(std::string_view name, const NamesField& field) override {
    std::string all;
    for (const auto& [key, text] : field.items()) {
      all.append(all.empty() ? "" : ", ").append(key).append(": ").append(in_yaml_quotes(text));
    }
    lines_.push_back({prefix_ + std::string{name}, "{" + all + "}", {}, true});
  }

 private:
  std::vector<Line>& lines_;
  std::string prefix_;
};

std::vector<Line> lines_of(const DaemonOptions& options) {
  std::vector<Line> lines;
  Writer writer{lines};
  DaemonOptions copy = options;  // the schema takes options that may be set
  visit_schema(writer, copy);
  return lines;
}

// The sections around a key from the outermost, then the key's own name.
std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin != std::string::npos;) {
    const std::size_t dot = path.find('.', begin);
    names.push_back(path.substr(begin, dot - begin));
    begin = dot == std::string::npos ? dot : dot + 1;
  }
  return names;
}

// Leaves sections that `wanted` is not in, and writes a line for each section that it enters.
void enter(std::string& text, std::vector<std::string>& open, std::vector<std::string> wanted) {
  const auto [kept, other] = std::ranges::mismatch(wanted, open);
  for (auto section = kept; section != wanted.end(); ++section) {
    const std::string indent(2 * static_cast<std::size_t>(section - wanted.begin()), ' ');
    text.append(indent).append(*section).append(":\n");
  }
  open = std::move(wanted);
}

// Adds the value, followed by its origin; aligned if the value is short.
void add(std::string& text, std::string line, const Origin* origin) {
  constexpr std::size_t kOriginColumn = 40;
  line.append(line.size() + 2 < kOriginColumn ? kOriginColumn - line.size() : 2, ' ');
  text.append(line).append("# ").append(origin == nullptr ? "default" : to_string(*origin)).append("\n");
}

}  // namespace

std::string describe(const DaemonOptions& options) {
  std::string text;
  for (const Line& line : lines_of(options)) {
    text.append(line.path).append(" = ").append(line.text).append("\n");
  }
  return text;
}

std::vector<Setting> settings(const DaemonOptions& options) {
  std::vector<Setting> all;
  for (Line& line : lines_of(options)) {
    const Origin* const origin = find_origin(options.origins, line.path);
    std::string text = line.list ? std::move(line.text) : to_yaml(line.text);
    all.push_back(
        {std::move(line.path), std::move(text), origin == nullptr ? "default" : to_string(*origin)});
  }
  return all;
}

std::string print_yaml(const DaemonOptions& options) {
  std::string text;
  std::vector<std::string> open;
  for (const Line& line : lines_of(options)) {
    std::vector<std::string> names = names_of(line.path);
    const std::string name = std::move(names.back());
    names.pop_back();
    enter(text, open, std::move(names));
    const std::string indent(2 * open.size(), ' ');
    const std::string key = indent + name + ":";
    const Origin* origin = find_origin(options.origins, line.path);
    if (line.items.empty()) {
      add(text, key + " " + (line.list ? line.text : to_yaml(line.text)), origin);
      continue;
    }
    add(text, key, origin);
    for (std::size_t i = 0; i < line.items.size(); ++i) {
      const Origin* item = find_origin(options.origins, line.path + "[" + std::to_string(i) + "]");
      const bool same = item == origin || (item != nullptr && origin != nullptr && *item == *origin);
      if (same) {
        text.append(indent).append("  - ").append(line.items[i]).append("\n");
      } else {
        add(text, indent + "  - " + line.items[i], item);
      }
    }
  }
  return text;
}

}  // namespace mxkv::config
