// Search for the line end. Most lines are shorter than a few words, where a call into the C library costs as
// much as the search; long ones (large multi-gets) are left to memchr, which has the vector instructions.
#include "protocol/line_scan.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "protocol/words.hpp"

namespace mxkv::protocol {
namespace {

constexpr std::ptrdiff_t kShortBytes = 64;

const char* find_lf(const char* from, const char* end) noexcept {
  const char* const near = end - from > kShortBytes ? from + kShortBytes : end;
  while (near - from >= 8) {
    const std::uint64_t marks = mark_equal(load_word(from), '\n');
    if (marks != 0) {
      return from + first_marked(marks);
    }
    from += 8;
  }
  if (end != near) {
    const void* const found = std::memchr(from, '\n', static_cast<std::size_t>(end - from));
    return found == nullptr ? end : static_cast<const char*>(found);
  }
  const std::uint64_t marks = mark_equal(load_short(from, static_cast<std::size_t>(end - from)), '\n');
  return marks == 0 ? end : from + first_marked(marks);
}

bool is_long_kind(std::string_view line) noexcept {
  return line.starts_with("get ") || line.starts_with("gets ") || line.starts_with("gat");
}

}  // namespace

line_end find_line_end(const char* data, std::size_t size, const ParserLimits& limits, LineState& line,
                       std::size_t& at) noexcept {
  std::size_t cap = limits.line_bytes;
  for (;;) {
    const std::size_t end = std::min(size, cap);
    const std::size_t begin = std::min(line.searched, end);
    const char* const found = find_lf(data + begin, data + end);
    at = static_cast<std::size_t>(found - data);
    if (at != end) {
      line.searched = 0;
      return line_end::found;
    }
    if (size < cap) {
      line.searched = size;
      return line_end::missing;
    }
    line.searched = end;
    if (cap >= limits.get_line_bytes || !is_long_kind({data, size})) {
      line.searched = 0;
      return line_end::too_long;
    }
    cap = limits.get_line_bytes;
  }
}

}  // namespace mxkv::protocol
