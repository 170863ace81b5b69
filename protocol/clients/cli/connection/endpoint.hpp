// Where a server is: HOST:PORT, HOST, [ADDRESS]:PORT, unix:PATH, or /PATH.
#pragma once

#include <string>
#include <string_view>

namespace mxkv::cli {

struct Endpoint {
  std::string host{};
  std::string port{};
  std::string path{};  ///< of a unix socket; empty: TCP
};

inline constexpr std::string_view kDefaultPort = "11211";

/// Throws Failure (Outcome::usage).
[[nodiscard]] Endpoint endpoint_of(const std::string& text);
/// As it is shown to people.
[[nodiscard]] std::string text_of(const Endpoint& endpoint);

}  // namespace mxkv::cli
