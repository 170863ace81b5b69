// Which replies a request may get, by their form: words, fields in their order, lengths that fit. Other tests
// check the values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/owed.hpp"

namespace mxkv::fuzz {

/// Whether `replies` are one well-formed reply for each that is owed, and nothing else. A quiet request may
/// have been answered or not: either will do. `may_refuse`: the last reply may be an error for lack of
/// memory, in place of all replies that are still owed. Returns the fault.
[[nodiscard]] std::string settle(const std::vector<Owed>& owed, std::string_view replies, bool may_refuse);

}  // namespace mxkv::fuzz
