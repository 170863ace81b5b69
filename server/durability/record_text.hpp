// Prints a record as one line for people, and times for such lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/commit/record.hpp"

namespace mxkv::server {

/// `"a\x00b"`: quoted; escapes quotes, backslashes and bytes that are not printable ASCII.
[[nodiscard]] std::string quoted(std::string_view bytes);

/// "2026-11-22 13:51:07.221 UTC".
[[nodiscard]] std::string utc_text(std::uint64_t unix_us);

/// `put order=77 key="a" bytes=3 value="abc" flags=1`, without a newline. Leaves out values longer than 64
/// bytes. Thread-safety: any thread.
[[nodiscard]] std::string record_text(const Record& record);

}  // namespace mxkv::server
