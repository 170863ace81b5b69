// The only list of all keys, their types and bounds. Reading a file, applying `--set` and describing options
// are visitors of this list, so that all of them know the same keys.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options.hpp"
#include "runtime/base/result.hpp"

namespace mxkv::config {

class SchemaVisitor;

/// The mistake in a value, or nothing.
using Mistake = std::optional<runtime::Error>;

/// A key with one value.
struct ScalarField {
  std::function<Mistake(std::string_view text)> set;  ///< leaves the option alone if it fails
  std::function<std::string()> get;                   ///< text that set() takes
};

/// A key with a list of values.
struct ListField {
  std::size_t least_items = 0;
  std::function<void()> clear;
  std::function<Mistake(std::string_view text)> set_text;   ///< one word for the whole list; may be empty
  std::function<Mistake(std::string_view text)> add_text;   ///< an item with one value; may be empty
  std::function<Mistake(SchemaVisitor& item)> add_mapping;  ///< an item with keys of its own
  std::function<std::vector<std::string>()> items;          ///< each as a text of YAML on one line
  std::string_view none = "[]";                             ///< the text of an empty list
};

/// A key with names and values that another program interprets. Names may have dots: the path of a nested
/// mapping becomes the part before a dot.
struct NamesField {
  std::function<Mistake(const std::string& name, std::string_view text)> set;
  std::function<std::vector<std::pair<std::string, std::string>>()> items;
};

/// Gets every key, in the order of the example file.
class SchemaVisitor {
 public:
  virtual ~SchemaVisitor() = default;
  virtual void section(std::string_view name, const std::function<void(SchemaVisitor&)>& body) = 0;
  virtual void scalar(std::string_view name, const ScalarField& field) = 0;
  virtual void list(std::string_view name, const ListField& field) = 0;
  virtual void names(std::string_view name, const NamesField& field) = 0;
  /// The key is not there any more. An error says why, such as "a server has none", and that it is to be deleted.
  virtual void removed(std::string_view /*name*/, std::string_view /*why*/) {}
  /// The keys that `body` shows stood here before they moved into `section`. Called after all other
  /// functions.
  virtual void moved(std::string_view /*section*/, const std::function<void(SchemaVisitor&)>& /*body*/) {}
};

/// Shows `visitor` all keys of `options`. Thread-safety: owner of `options` only.
void visit_schema(SchemaVisitor& visitor, DaemonOptions& options);

}  // namespace mxkv::config
