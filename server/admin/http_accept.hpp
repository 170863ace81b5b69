// How strongly a client prefers a content type, by its header Accept (RFC 9110, 12.5.1).
#pragma once

#include <string_view>

namespace mxkv::server {

struct AcceptWeight {
  unsigned thousandths = 0;  ///< 0: the client does not accept this type
  bool named = false;        ///< the header names the type itself, not only a range such as */*
};

/// `type`: as "text/plain", in lower case. Of several entries that match, the closest counts, and of equally
/// close ones that with the greatest weight. Parameters other than the weight are ignored. Thread-safety: any
/// thread.
[[nodiscard]] AcceptWeight weight_of(std::string_view accept, std::string_view type) noexcept;

}  // namespace mxkv::server
