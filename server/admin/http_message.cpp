#include "server/admin/http_message.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace mxkv::server {

namespace {

template <class Body>
void set_headers(http::response<Body>& response, const HttpReply& reply) {
  response.set(http::field::server, "mxkvd");
  response.set(http::field::content_type, reply.type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("X-Frame-Options", "DENY");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
      "form-action 'none'; frame-ancestors 'none'");
  if (response.result() == http::status::method_not_allowed) {
    response.set(http::field::allow, "GET, HEAD");
  } else if (response.result() == http::status::unauthorized) {
    response.set(http::field::www_authenticate, R"(Basic realm="mxkv", charset="UTF-8")");
  }
}

}  // namespace

http::message_generator message_of(const HttpHeader& request, HttpReply reply, bool last) {
  const auto fill = [&](auto response) {
    set_headers(response, reply);
    response.keep_alive(!last);
    return response;
  };
  const auto status = static_cast<http::status>(reply.status);
  const unsigned version = request.version() == 10 ? 10 : 11;
  if (request.method() == http::verb::head) {
    auto response = fill(http::response<http::empty_body>{status, version});
    response.content_length(reply.body.size());
    return response;
  }
  auto response = fill(http::response<http::string_body>{status, version});
  response.body() = std::move(reply.body);
  response.prepare_payload();
  return response;
}

HttpReply error_reply(unsigned status, std::string_view why) {
  return {.status = status, .type = kPlainText, .body = std::string{why} + "\n"};
}

bool is_browser(const HttpHeader& request) {
  return request.count(http::field::accept_language) > 0 || request.count("Sec-Fetch-Site") > 0 ||
         request.count(http::field::origin) > 0 || request.count(http::field::referer) > 0;
}

}  // namespace mxkv::server
