// The visitor that reads. It follows the schema's order and collects all mistakes; sort_by_place() puts them
// into the text's order later, because people work through a file from the top.
#include "config/reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/former_places.hpp"
#include "runtime/base/nearest.hpp"

namespace mxkv::config {
namespace {

class Reader final : public SchemaVisitor {
 public:
  Reader(const Value& value, std::string path, Origins& origins, Findings& findings)
      : value_(value), path_(std::move(path)), origins_(origins), findings_(findings) {}

  void section(std::string_view name, const std::function<void(SchemaVisitor&)>& body) override {
    const Member* member = take(name);
    if (member != nullptr) {
      read_mapping(member->value, path_of(name), body);
    }
  }

  void scalar(std::string_view name, const ScalarField& field) override {
    const Member* member = take(name);
    if (member == nullptr || member->value.kind == value_kind::broken) {
      return;
    }
    if (member->value.kind == value_kind::nothing) {  // its own place is where the parser stopped
      report(member->origin, path_of(name), "has no value (allowed: one value)");
      return;
    }
    if (member->value.kind != value_kind::scalar) {
      report(member->value.origin, path_of(name), "is a list or a mapping (allowed: one value)");
      return;
    }
    const Mistake mistake = field.set(member->value.text);
    report(member->value.origin, path_of(name), mistake);
    if (!mistake) {
      origins_[path_of(name)] = member->value.origin;
    }
  }

  void list(std::string_view name, const ListField& field) override {
    const Member* member = take(name);
    if (member == nullptr || member->value.kind == value_kind::broken) {
      return;
    }
    if (member->value.kind == value_kind::scalar && field.set_text) {
      const Mistake mistake = field.set_text(member->value.text);
      report(member->value.origin, path_of(name), mistake);
      if (!mistake) {
        note(*member, path_of(name));
      }
      return;
    }
    if (member->value.kind == value_kind::scalar || member->value.kind == value_kind::mapping) {
      report(member->value.origin, path_of(name), "is not a list (allowed: [item, item])");
      return;
    }
    if (member->value.items.size() < field.least_items) {
      report(member->origin, path_of(name), "is an empty list (allowed: at least one item)");
      return;
    }
    field.clear();
    note(*member, path_of(name));
    for (std::size_t i = 0; i < member->value.items.size(); ++i) {
      read_item(member->value.items[i], path_of(name) + "[" + std::to_string(i) + "]", field);
    }
  }

  void names(std::string_view name, const NamesField& field) override {
    if (const Member* member = take(name)) {
      read_names(member->value, path_of(name), "", field);
    }
  }

  void removed(std::string_view name, std::string_view why) override {
    if (const Member* member = find(name)) {
      report(member->origin, path_of(name), removed_key(why));
      former_.emplace_back(name);
    }
  }

  void moved(std::string_view section, const std::function<void(SchemaVisitor&)>& body) override {
    FormerPlaces former{value_, path_, path_of(section), findings_};
    body(former);
    former_.insert(former_.end(), former.found().begin(), former.found().end());
  }

  // Reports the keys that no field asked for; called when the schema has shown all fields. Beyond as many as
  // are shown, keys are only counted: the file may not be a configuration at all.
  void finish() {
    std::size_t unknown = 0;
    for (const Member& member : value_.members) {
      if (std::ranges::find(known_, member.key) != known_.end() ||
          std::ranges::find(former_, member.key) != former_.end()) {
        continue;
      }
      if (++unknown > kMostFindingsShown) {
        report(member.origin, "", "an unknown key");
        continue;
      }
      std::string what = "an unknown key";
      if (const std::string meant = runtime::nearest(member.key, known_); !meant.empty()) {
        what.append(", did you mean ").append(meant).append("?");
      }
      const char* between = " (allowed: ";
      for (const std::string& name : known_) {
        what.append(std::exchange(between, ", ")).append(name);
      }
      report(member.origin, path_of(member.key), what.append(")"));
    }
  }

  // Reads `value` as a mapping with the keys that `body` shows.
  void read_mapping(const Value& value, const std::string& path,
                    const std::function<void(SchemaVisitor&)>& body) {
    if (value.kind == value_kind::broken) {
      return;
    }
    if (value.kind == value_kind::scalar || value.kind == value_kind::list) {
      report(value.origin, path, "is not a mapping (allowed: key: value)");
      return;
    }
    Reader inner{value, path, origins_, findings_};
    body(inner);
    inner.finish();
  }

 private:
  [[nodiscard]] std::string path_of(std::string_view name) const {
    return path_.empty() ? std::string{name} : path_ + "." + std::string{name};
  }

  const Member* take(std::string_view name) {
    known_.emplace_back(name);
    return find(name);
  }
  [[nodiscard]] const Member* find(std::string_view name) const {
    const auto at = std::ranges::find(value_.members, name, &Member::key);
    return at != value_.members.end() ? &*at : nullptr;
  }

  void read_names(const Value& value, const std::string& path, const std::string& before,
                  const NamesField& field) {
    if (value.kind == value_kind::scalar || value.kind == value_kind::list) {
      report(value.origin, path, "is not a mapping (allowed: name: value)");
      return;
    }
    for (const Member& member : value.members) {
      const std::string inner = path + "." + member.key;
      const std::string name = before + member.key;
      if (member.value.kind == value_kind::mapping) {
        read_names(member.value, inner, name + ".", field);
      } else if (member.value.kind == value_kind::scalar) {
        report(member.value.origin, inner, field.set(name, member.value.text));
        origins_[path] = member.value.origin;
      } else if (member.value.kind != value_kind::broken) {
        report(member.origin, inner,
               member.value.kind == value_kind::list ? "is a list (allowed: one value)"
                                                     : "has no value (allowed: one value)");
      }
    }
  }

  void read_item(const Value& item, const std::string& path, const ListField& field) {
    if (item.kind == value_kind::nothing) {
      report(item.origin, path, "has no value (allowed: an item)");
      return;
    }
    origins_[path] = item.origin;
    if (item.kind == value_kind::scalar && field.add_text) {
      report(item.origin, path, field.add_text(item.text));
      return;
    }
    read_mapping(item, path, [&](SchemaVisitor& inner) {
      const std::size_t before = findings_.size();
      const Mistake mistake = field.add_mapping(inner);
      if (findings_.size() == before) {  // else the item's own keys have reported a clearer mistake
        report(item.origin, path, mistake);
      }
    });
  }

  // A list is replaced whole, so the origins of its items are void.
  void note(const Member& member, const std::string& path) {
    forget_origins(origins_, path);
    origins_[path] = member.value.kind == value_kind::nothing ? member.origin : member.value.origin;
  }

  void report(const Origin& origin, std::string path, std::string what) {
    findings_.push_back(Finding{.origin = origin, .path = std::move(path), .what = std::move(what)});
  }
  void report(const Origin& origin, std::string path, const Mistake& mistake) {
    if (mistake) {
      report(origin, std::move(path), mistake->message);
    }
  }

  const Value& value_;
  std::string path_;
  Origins& origins_;
  Findings& findings_;
  std::vector<std::string> known_;
  std::vector<std::string> former_;  // keys that were reported as moved or removed
};

}  // namespace

void apply(const Value& root, const std::function<void(SchemaVisitor&)>& schema, Origins& origins,
           Findings& findings) {
  const Value outside;
  Reader{outside, "", origins, findings}.read_mapping(root, "", schema);
}

void apply(const Value& root, DaemonOptions& options, Findings& findings) {
  apply(
      root, [&options](SchemaVisitor& visitor) { visit_schema(visitor, options); }, options.origins,
      findings);
}

}  // namespace mxkv::config
