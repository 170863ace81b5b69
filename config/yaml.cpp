// Builds Values from yaml-cpp's events instead of its nodes: events have every place, and nodes drop the
// second of two equal keys. The only file that includes yaml-cpp.
#include "config/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>

namespace mxkv::config {
namespace {

// Leaves the parser from inside an event; thrown and caught in this file only.
struct Rejected {
  Origin origin;
  std::string what;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string source, places kept, Findings& findings)
      : source_(std::move(source)), kept_(kept), findings_(findings) {}

  [[nodiscard]] Value take() { return std::move(root_); }
  [[nodiscard]] Origin origin(const YAML::Mark& mark) const {
    if (kept_ == places::none) {
      return Origin{.source = source_};
    }
    return Origin{.source = source_,
                  .line = static_cast<std::uint32_t>(mark.line + 1),
                  .column = static_cast<std::uint32_t>(mark.column + 1)};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      throw Rejected{origin(mark), "a second document (allowed: one)"};
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    add(make(mark, value_kind::nothing), mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    if (expects_key()) {
      throw Rejected{origin(mark), "an alias (allowed: values written out)"};
    }
    findings_.push_back({origin(mark), value_path(), "an alias (allowed: values written out)"});
    attach(make(mark, value_kind::broken));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& text) override {
    Value value = make(mark, value_kind::scalar);
    value.text = text;
    add(std::move(value), mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, value_kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, value_kind::mapping);
  }
  void OnMapEnd() override { close(); }

 private:
  // An unfinished list or mapping, and in a mapping the key that waits for its value.
  struct Open {
    Value value;
    Member pending;
    std::unordered_map<std::string, std::uint32_t> lines;  // of a mapping's keys
    bool has_key = false;
    bool repeated = false;  // the pending key is a duplicate: its value is dropped
  };

  [[nodiscard]] Value make(const YAML::Mark& mark, value_kind kind) const {
    Value value;
    value.kind = kind;
    value.origin = origin(mark);
    return value;
  }

  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().value.kind == value_kind::mapping && !open_.back().has_key;
  }

  void open(const YAML::Mark& mark, value_kind kind) {
    if (expects_key()) {
      throw Rejected{origin(mark), "a key that is a list or a mapping (allowed: plain text)"};
    }
    open_.push_back(
        Open{.value = make(mark, kind), .pending = {}, .lines = {}, .has_key = false, .repeated = false});
  }

  void close() {
    Value value = std::move(open_.back().value);
    open_.pop_back();
    attach(std::move(value));
  }

  void add(Value value, const YAML::Mark& mark) {
    if (!expects_key()) {
      attach(std::move(value));
      return;
    }
    Open& mapping = open_.back();
    if (value.kind != value_kind::scalar) {
      throw Rejected{origin(mark), "an empty key (allowed: plain text)"};
    }
    const auto [same, first] = mapping.lines.try_emplace(value.text, value.origin.line);
    if (!first) {
      const std::uint32_t line = same->second;
      findings_.push_back({origin(mark), path() + value.text,
                           "a repeated key (allowed: once" +
                               (line == 0 ? "" : "; first in line " + std::to_string(line)) + ")"});
    }
    mapping.repeated = !first;
    mapping.pending = Member{.key = std::move(value.text), .origin = std::move(value.origin), .value = {}};
    mapping.has_key = true;
  }

  void attach(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.kind == value_kind::list) {
      parent.value.items.push_back(std::move(value));
      return;
    }
    parent.pending.value = std::move(value);
    if (!parent.repeated) {
      parent.value.members.push_back(std::move(parent.pending));
    }
    parent.has_key = false;
  }

  // "limits." inside the mapping of that key.
  [[nodiscard]] std::string path() const {
    std::string text;
    for (const Open& at : open_) {
      if (at.has_key) {
        text.append(at.pending.key).append(".");
      } else if (at.value.kind == value_kind::list) {
        if (!text.empty()) {
          text.pop_back();
        }
        text.append("[").append(std::to_string(at.value.items.size())).append("].");
      }
    }
    return text;
  }

  // "limits.pipeline" while the value of that key is expected.
  [[nodiscard]] std::string value_path() const {
    const std::string text = path();
    return text.substr(0, text.empty() ? 0 : text.size() - 1);
  }

  std::string source_;
  places kept_;
  Findings& findings_;
  std::vector<Open> open_;
  Value root_;
  int documents_ = 0;
};

/// Names the line if a tab indents line `at`, or the one before it: yaml-cpp does not. Empty: no tab does.
std::string line_with_tab(const std::string& text, int at) {
  std::istringstream lines{text};
  std::string line;
  for (int number = 0; std::getline(lines, line) && number <= at; ++number) {
    const std::size_t indented = std::min(line.find_first_not_of(" \t"), line.size());
    if (number + 1 >= at && line.find('\t') < indented) {
      return "a tab indents line " + std::to_string(number + 1) + " (allowed: spaces)";
    }
  }
  return {};
}

}  // namespace

Value parse_yaml(const std::string& text, const std::string& source, places kept, Findings& findings) {
  TreeBuilder builder{source, kept, findings};
  std::istringstream stream{text};
  try {
    YAML::Parser parser{stream};
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const Rejected& rejected) {
    findings.push_back({rejected.origin, "", rejected.what});
  } catch (const YAML::Exception& mistake) {
    const std::string tabbed = line_with_tab(text, mistake.mark.line);
    findings.push_back({builder.origin(mistake.mark), "", tabbed.empty() ? mistake.msg : tabbed});
  }
  Value broken;
  broken.kind = value_kind::broken;
  return broken;
}

}  // namespace mxkv::config
