// A server's address: HOST:PORT, HOST, [ADDRESS]:PORT, unix:PATH, or /PATH.
#pragma once

#include <cstdint>
#include <string>

namespace mxkv::cli {

struct Endpoint {
  std::string host{};
  std::uint16_t port = 0;
  std::string path{};  ///< of a unix socket; empty: TCP
};

inline constexpr std::uint16_t kDefaultPort = 11211;

/// Throws Failure (Outcome::usage).
[[nodiscard]] Endpoint endpoint_of(const std::string& text);
/// The endpoint as text for messages.
[[nodiscard]] std::string text_of(const Endpoint& endpoint);

}  // namespace mxkv::cli
