// HTTP replies with their headers, of which some restrict browsers to this server; and what a request shows
// about its client.
#pragma once

#include <string_view>

#include "server/admin/beast.hpp"
#include "server/admin/http_pages.hpp"

namespace mxkv::server {

// Thread-safety of all: any thread.

using HttpHeader = http::request<http::empty_body>;

/// The reply, as sent, to a client that speaks no TLS at a listener with TLS.
inline constexpr std::string_view kWantsTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 28\r\n"
    "Connection: close\r\n\r\nthis listener speaks https.\n";

/// `last`: the connection ends after the reply.
[[nodiscard]] http::message_generator message_of(const HttpHeader& request, HttpReply reply, bool last);

[[nodiscard]] HttpReply error_reply(unsigned status, std::string_view why);

/// Whether a browser sent the request, by headers that a browser sends whatever the web page wants.
[[nodiscard]] bool is_browser(const HttpHeader& request);

[[nodiscard]] inline std::string_view view_of(beast::string_view text) noexcept {
  return {text.data(), text.size()};
}

}  // namespace mxkv::server
