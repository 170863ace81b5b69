#include "config/origin.hpp"

#include <algorithm>

namespace mxkv::config {

std::string to_string(const Origin& origin) {
  if (origin.line == 0) {
    return origin.source;
  }
  return origin.source + ":" + std::to_string(origin.line) + ":" + std::to_string(origin.column);
}

const Origin* find_origin(const Origins& origins, std::string_view path) {
  while (!path.empty()) {
    const auto at = origins.find(path);
    if (at != origins.end()) {
      return &at->second;
    }
    const std::size_t end = path.find_last_of(".[");
    path = path.substr(0, end == std::string_view::npos ? 0 : end);
  }
  return nullptr;
}

void forget_origins(Origins& origins, std::string_view path) {
  std::erase_if(origins, [path](const auto& entry) {
    const std::string_view key = entry.first;
    return key.starts_with(path) &&
           (key.size() == path.size() || key[path.size()] == '.' || key[path.size()] == '[');
  });
}

}  // namespace mxkv::config
