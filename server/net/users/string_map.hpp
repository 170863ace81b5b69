// A map from strings that can be searched by string_view.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace mxkv::server {

struct StringHash {
  using is_transparent = void;
  [[nodiscard]] std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

template <class T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

}  // namespace mxkv::server
