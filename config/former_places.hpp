// The visitor that looks for keys at their places from before they moved into a section, and reports each
// with its new place, or as removed. Used by the reader only.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/findings.hpp"
#include "config/schema.hpp"
#include "config/value.hpp"

namespace mxkv::config {

/// The mistake in a key that was removed.
inline std::string removed_key(std::string_view why) {
  return "was removed: " + std::string{why} + " (delete the key)";
}

/// `before` and `now` are the paths of the mapping `value` and of the keys' new section.
class FormerPlaces final : public SchemaVisitor {
 public:
  FormerPlaces(const Value& value, std::string before, std::string now, Findings& findings)
      : value_(value), before_(std::move(before)), now_(std::move(now)), findings_(findings) {}

  // Reports each key found in the section; if it has none, the section itself.
  void section(std::string_view name, const std::function<void(SchemaVisitor&)>& body) override {
    const Member* member = take(name);
    if (member == nullptr) {
      return;
    }
    FormerPlaces inner{member->value, path(before_, name), path(now_, name), findings_};
    body(inner);
    if (inner.found_.empty()) {
      report(*member);
    }
  }
  void scalar(std::string_view name, const ScalarField& /*field*/) override { report_if(take(name)); }
  void list(std::string_view name, const ListField& /*field*/) override { report_if(take(name)); }
  void names(std::string_view name, const NamesField& /*field*/) override { report_if(take(name)); }

  void removed(std::string_view name, std::string_view why) override {
    if (const Member* member = take(name)) {
      findings_.push_back(
          Finding{.origin = member->origin, .path = path(before_, name), .what = removed_key(why)});
    }
  }

  /// The keys that were found at the old place.
  [[nodiscard]] const std::vector<std::string>& found() const { return found_; }

 private:
  static std::string path(const std::string& outer, std::string_view name) {
    return outer.empty() ? std::string{name} : outer + "." + std::string{name};
  }
  const Member* take(std::string_view name) {
    const auto at = std::ranges::find(value_.members, name, &Member::key);
    if (at == value_.members.end()) {
      return nullptr;
    }
    found_.emplace_back(name);
    return &*at;
  }
  void report_if(const Member* member) {
    if (member != nullptr) {
      report(*member);
    }
  }
  void report(const Member& member) {
    findings_.push_back(Finding{.origin = member.origin,
                                .path = path(before_, member.key),
                                .what = "is now " + path(now_, member.key)});
  }

  const Value& value_;
  std::string before_;
  std::string now_;
  Findings& findings_;
  std::vector<std::string> found_;
};

}  // namespace mxkv::config
