// The command line in YCSB's manner, turned into one that an ordinary parser understands.
//
// YCSB has long options with one dash (-threads 4), a command as an option (-load, -t) or as the first word,
// and the store as the second word. A flag with a property's name sets that property at its place in the
// line, so that among flags and -p the later one wins.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace mxkv::bench {

/// A property that is a flag too: --name VALUE is -p name=VALUE.
struct PropertyFlag {
  std::string_view flag;      ///< without dashes
  std::string_view property;  ///< its name
  std::string_view help;
};

/// All property flags, in the order of the help text.
std::span<const PropertyFlag> property_flags() noexcept;

/// Takes the arguments behind the program's name. A load or run is returned as that word, then -P, -p and the
/// flags that are no properties. Other commands are returned unchanged. Fails if a value is missing.
/// Thread-safety: any thread.
runtime::Result<std::vector<std::string>> translate_arguments(const std::vector<std::string>& arguments);

}  // namespace mxkv::bench
