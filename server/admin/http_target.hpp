// The target of a request, and the host name by which it came: the request line and the header Host (RFC
// 9112, 3.2 and 3.3).
//
// A target is a path, or a complete URL of http or https. The URL's host then replaces the header's. Other
// forms are for proxies and for OPTIONS.
#pragma once

#include <cstddef>
#include <string_view>

namespace mxkv::server {

struct HttpTarget {
  std::string_view host{};     ///< with its port, if given; may be empty
  std::string_view path{};     ///< begins with a slash
  std::string_view query{};    ///< after the question mark
  const char* flaw = nullptr;  ///< the error; null: none
};

/// The headers Host of a request.
struct HostHeaders {
  std::size_t count = 0;
  std::string_view first{};  ///< empty: none
  bool needed = true;        ///< HTTP/1.1; older clients may leave it out
};

/// The result refers to the texts. Thread-safety: any thread.
[[nodiscard]] HttpTarget read_target(std::string_view target, const HostHeaders& hosts) noexcept;

}  // namespace mxkv::server
