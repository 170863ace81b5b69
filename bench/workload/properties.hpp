// Properties as YCSB has them: names with values, from files in Java's .properties format and from -p
// name=value.
//
// Each value keeps its place, so that an error names file and line. The caller asks for all names that it
// knows; the other names are unknown, and it warns of them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace mxkv::bench {

/// Reads a whole file. Thread-safety: any thread.
runtime::Result<std::string> read_file(const std::string& file);

/// Thread-safety: startup only.
class Properties {
 public:
  struct Entry {
    std::string value;
    std::string origin;  ///< "<file>:<line>", or the flag
  };

  /// Sets a value; a later one wins.
  void set(std::string name, std::string value, std::string origin);
  /// Takes all settings of `text`, in Java's .properties format; returns their number.
  /// `file` is its name in origins. Fails on a malformed \u escape, as Java does.
  runtime::Result<std::size_t> parse(std::string_view text, const std::string& file);
  /// The same with a file.
  runtime::Result<std::size_t> load(const std::string& file);

  /// The entry, or null. From now on the name counts as known.
  const Entry* find(std::string_view name) const;
  /// Names that were set and never asked for, with their origins.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> unknown() const;

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  mutable std::set<std::string, std::less<>> asked_;
};

/// Reads typed values out of properties and collects errors, one text each. Thread-safety: startup only.
class PropertyReader {
 public:
  explicit PropertyReader(const Properties& properties) : properties_(properties) {}

  std::uint64_t whole(std::string_view name, std::uint64_t otherwise, std::uint64_t least,
                      std::uint64_t most);
  /// A decimal number of [least, most].
  double real(std::string_view name, double otherwise, double least, double most);
  /// "true" or "false" in any case.
  bool truth(std::string_view name, bool otherwise);
  std::string text(std::string_view name, std::string_view otherwise);
  /// The position of the value in `names`.
  std::size_t choice(std::string_view name, const std::vector<std::string_view>& names,
                     std::size_t otherwise);
  [[nodiscard]] bool is_set(std::string_view name) const { return properties_.find(name) != nullptr; }

  /// Notes a problem; its text begins with the place where the property was set.
  void complain(std::string_view name, const std::string& what);
  [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  const Properties& properties_;
  std::vector<std::string> problems_;
};

}  // namespace mxkv::bench
