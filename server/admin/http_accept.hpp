// How much a client wants a type of content, by its header Accept (RFC 9110, 12.5.1).
#pragma once

#include <string_view>

namespace mxkv::server {

struct AcceptWeight {
  unsigned thousandths = 0;  ///< 0: it does not take this type
  bool named = false;        ///< the type itself is in the header, and not only a range such as */*
};

/// `type`: as "text/plain", in lower case. Of several entries that fit, the closest counts, and of those the greatest
/// weight: parameters other than the weight are not compared. Thread-safety: any thread.
[[nodiscard]] AcceptWeight weight_of(std::string_view accept, std::string_view type) noexcept;

}  // namespace mxkv::server
