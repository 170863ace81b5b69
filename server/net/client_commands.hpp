// What `client list` and `client kill` say and do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/net/admin_source.hpp"
#include "server/net/client_table.hpp"

namespace mxkv::server {

/// A line "CLIENT id=1 cfd=20 addr=tcp:10.0.0.1:40000 ..." for each connection by age, and END: a page of it.
/// What others chose (names, paths) is written as in URIs. Any thread.
[[nodiscard]] std::string list_clients(const ClientTable& clients, std::uint64_t now_ns, AdminCursor& cursor);

/// Ends the connection of this number, or of this address, or all of an address without a port: "7", "10.0.0.1:40000",
/// "tcp6:[::1]:40000", "10.0.0.1". A page of them; the cursor counts those that it found. Any thread.
void kill_clients(ClientTable& clients, std::string_view which, AdminCursor& cursor);

}  // namespace mxkv::server
