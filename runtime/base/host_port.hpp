// HOST:PORT as people write it, for all programs that connect.
//
//   name:11211   10.0.0.1:11211   [2001:db8::1]:11211      and without a port: name   10.0.0.1   [::1]   ::1
//
// A host of more than one colon without brackets is an address of version 6 and has no port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace mxkv::runtime {

struct HostPort {
  std::string host{};      ///< a name, or an address without brackets
  std::uint16_t port = 0;  ///< 1 to 65535
};

/// Decimal digits, from 1 to 65535. The resolver would take a larger number modulo 65536.
[[nodiscard]] std::optional<std::uint16_t> parse_port(std::string_view text) noexcept;

/// `default_port` where `text` has none; 0: then that is an error. Errors name `text` and its fault.
[[nodiscard]] Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port);

/// With brackets where the host has colons.
[[nodiscard]] std::string text_of(const HostPort& place);

}  // namespace mxkv::runtime
