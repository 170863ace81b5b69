// What `client list` and `client kill` say and do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/net/client_table.hpp"

namespace mxkv::server {

/// A line "CLIENT id=1 cfd=20 addr=tcp:10.0.0.1:40000 ..." for each connection by age, and END. What others chose (names,
/// paths) is written as in URIs. Any thread.
[[nodiscard]] std::string list_clients(const ClientTable& clients, std::uint64_t now_ns);

/// Ends the connection of this number, or of this address, or all of an address without a port: "7", "10.0.0.1:40000",
/// "tcp6:[::1]:40000", "10.0.0.1". Returns how many. Any thread.
std::size_t kill_clients(ClientTable& clients, std::string_view which);

}  // namespace mxkv::server
