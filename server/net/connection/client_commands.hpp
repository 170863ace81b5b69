// The commands `client list` and `client kill`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/net/connection/client_table.hpp"
#include "server/net/session/admin_source.hpp"

namespace mxkv::server {

/// One page of connections, ordered by age: a line "CLIENT id=1 cfd=20 addr=tcp:10.0.0.1:40000 ..." for each,
/// and END. Names and paths that clients chose are escaped as in URIs. Any thread.
[[nodiscard]] std::string list_clients(const ClientTable& clients, std::uint64_t now_ns, AdminCursor& cursor);

/// Closes the connection with this number or address, or all connections of an address without a port: "7",
/// "10.0.0.1:40000", "tcp6:[::1]:40000", "10.0.0.1". Works page by page; the cursor counts the connections
/// that matched. Any thread.
void kill_clients(ClientTable& clients, std::string_view which, AdminCursor& cursor);

}  // namespace mxkv::server
