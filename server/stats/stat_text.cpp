#include "server/stats/stat_text.hpp"

#include <utility>

namespace mxkv::server {

void StatText::add(std::string_view name, std::string_view value) {
  text_.append("STAT ").append(name).append(" ").append(value).append("\r\n");
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
