// Numbers for people: bytes, counts, times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mxkv::cli {

/// 1536 -> "1.5KiB".
[[nodiscard]] std::string bytes_text(double bytes);
/// 1234567 -> "1.23M"; below ten thousand all digits.
[[nodiscard]] std::string count_text(double count);
/// Of microseconds: "12us", "3.4ms", "1.2s".
[[nodiscard]] std::string micros_text(double micros);
/// Of seconds: "42s", "3m05s", "2h13m", "4d02h".
[[nodiscard]] std::string seconds_text(double seconds);

/// Rows of words in columns: the first one to the left, the others to the right. Each row ends with LF.
[[nodiscard]] std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace mxkv::cli
