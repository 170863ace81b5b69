// The keys of a watch, the kinds of changes, and the form of its lines. Watches of one form share their lines.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "server/feed/key_span.hpp"

namespace mxkv::server {

/// Kinds of changes, as bits.
namespace told {
inline constexpr std::uint8_t kPut = 1;
inline constexpr std::uint8_t kDeleted = 2;
inline constexpr std::uint8_t kEvicted = 4;
inline constexpr std::uint8_t kExpired = 8;
inline constexpr std::uint8_t kTouched = 16;
inline constexpr std::uint8_t kUsual = kPut | kDeleted | kEvicted | kTouched;
}  // namespace told

/// Plain value, ordered so that it can be a key.
struct WatchForm {
  KeySpan span{};
  std::string shows{};  ///< of "cfst", in the order of the request
  bool values = false;
  bool base64 = false;  ///< all keys go out in base64; else only those that a line cannot carry
  std::uint8_t kinds = told::kUsual;

  friend auto operator<=>(const WatchForm&, const WatchForm&) = default;
};

}  // namespace mxkv::server
