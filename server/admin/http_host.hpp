// Protects browsers against DNS rebinding: a foreign web page whose host name suddenly resolves to this
// address could read these pages. So a browser may only ask by names that cannot belong to a foreign page:
// addresses, names without a dot, names under .localhost, and this machine's own name. Programs such as
// scrapers may use any name, because no web page controls them.
#pragma once

#include <string_view>

namespace mxkv::server {

/// `host`: the header, with or without a port; `own_name`: this machine's name. Thread-safety: any thread.
[[nodiscard]] bool is_own_host(std::string_view host, std::string_view own_name) noexcept;

}  // namespace mxkv::server
