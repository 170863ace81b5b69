#include "server/stats/stat_text.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/readable.hpp"

namespace mxkv::server {

void StatText::add(std::string_view name, std::string_view value) {
  text_.append("STAT ");
  append(name, false);
  text_ += ' ';
  append(value, true);
  text_.append("\r\n");
}

void StatText::append(std::string_view text, bool blanks) {
  const auto is_plain = [blanks](char c) { return (c > ' ' || (blanks && c == ' ')) && c < 0x7f; };
  if (std::ranges::all_of(text, is_plain)) {
    text_.append(text);
  } else {
    text_.append(blanks ? runtime::readable(text) : runtime::readable_word(text));
  }
}

void StatText::add_seconds(std::string_view name, long seconds, long microseconds) {
  constexpr std::size_t kDecimals = 6;
  const std::string fraction = std::to_string(microseconds);
  const std::string zeros(kDecimals - std::min(kDecimals, fraction.size()), '0');
  add(name, std::to_string(seconds) + "." + zeros + fraction);
}

std::string StatText::finish() && {
  text_.append("END\r\n");
  return std::move(text_);
}

}  // namespace mxkv::server
