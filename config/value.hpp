// A configuration as text with places: what a YAML document or a `--set` argument says, before anyone
// asked what it means. Numbers stay text here; the schema knows their types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/origin.hpp"

namespace mxkv::config {

/// `broken`: the text was wrong and has been reported; nobody looks inside.
enum class value_kind : std::uint8_t { nothing, scalar, list, mapping, broken };

struct Member;

/// One value with all that is in it.
struct Value {
  value_kind kind = value_kind::nothing;
  Origin origin;
  std::string text;             ///< of a scalar
  std::vector<Value> items;     ///< of a list
  std::vector<Member> members;  ///< of a mapping, in the order written; keys differ
};

/// A key and its value in a mapping.
struct Member {
  std::string key;
  Origin origin;
  Value value;
};

}  // namespace mxkv::config
