// Replies as they go out by HTTP, with what tells browsers to keep to this server; and what a request tells of its client.
#pragma once

#include <string_view>

#include "server/admin/beast.hpp"
#include "server/admin/http_pages.hpp"

namespace mxkv::server {

// Thread-safety of all: any thread.

using HttpHeader = http::request<http::empty_body>;

/// To who speaks no TLS where that is spoken: a reply as it goes out.
inline constexpr std::string_view kWantsTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 28\r\n"
    "Connection: close\r\n\r\nthis listener speaks https.\n";

/// `last`: the connection ends behind it.
[[nodiscard]] http::message_generator message_of(const HttpHeader& request, HttpReply reply, bool last);

[[nodiscard]] HttpReply error_reply(unsigned status, std::string_view why);

/// By what browsers send whatever the page that they show wants.
[[nodiscard]] bool is_browser(const HttpHeader& request);

[[nodiscard]] inline std::string_view view_of(beast::string_view text) noexcept {
  return {text.data(), text.size()};
}

}  // namespace mxkv::server
