// A configuration as text with places: the contents of a YAML document or a `--set` argument, before they are
// interpreted. Numbers stay text here; the schema knows their types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/origin.hpp"

namespace mxkv::config {

/// `broken`: the text had a mistake, which was reported; the reader skips the value.
enum class value_kind : std::uint8_t { nothing, scalar, list, mapping, broken };

struct Member;

/// One value with all values in it.
struct Value {
  value_kind kind = value_kind::nothing;
  Origin origin;
  std::string text;             ///< for a scalar
  std::vector<Value> items;     ///< for a list
  std::vector<Member> members;  ///< for a mapping, in the order written; keys differ
};

/// A key and its value in a mapping.
struct Member {
  std::string key;
  Origin origin;
  Value value;
};

}  // namespace mxkv::config
