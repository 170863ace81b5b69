// A record as one line for people, and the times that lines for people have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/journal/record.hpp"

namespace mxkv::server {

/// `"a\x00b"`: quoted, with what is not printable ASCII, quotes and backslashes escaped.
[[nodiscard]] std::string quoted(std::string_view bytes);

/// "2026-11-22 13:51:07.221 UTC".
[[nodiscard]] std::string utc_text(std::uint64_t unix_us);

/// `put order=77 key="a" bytes=3 value="abc" flags=1`, without a newline. Longer values than 64 bytes are left
/// out. Thread-safety: any thread.
[[nodiscard]] std::string record_text(const Record& record);

}  // namespace mxkv::server
