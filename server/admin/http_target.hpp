// What a request asks for, and by which name it came here: the target and the header Host (RFC 9112, 3.2 and 3.3).
//
// A target is a path, or a whole URL of http or https, whose name then counts in place of the header's. Other forms are
// for proxies and for OPTIONS.
#pragma once

#include <cstddef>
#include <string_view>

namespace mxkv::server {

struct HttpTarget {
  std::string_view host{};     ///< with its port, if one was said; may be empty
  std::string_view path{};     ///< begins with a slash
  std::string_view query{};    ///< behind the question mark
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
