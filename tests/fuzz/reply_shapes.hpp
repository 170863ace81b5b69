// Which replies a request may get, by their form: words, fields in their order, lengths that fit. What the
// values should be is for other tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/owed.hpp"

namespace mxkv::fuzz {

/// Whether `replies` are one well-formed reply for each that is owed, and nothing else. Where a quiet request
/// may have been answered or not, either will do. `may_refuse`: the last reply may be that there is no memory
/// to read more, in place of all that is still owed. Returns what is wrong.
[[nodiscard]] std::string settle(const std::vector<Owed>& owed, std::string_view replies, bool may_refuse);

}  // namespace mxkv::fuzz
