// Whether a browser was led here by a name that is not this server's (DNS rebinding): a page of somebody else's, whose
// name suddenly means this address, could read what is shown here. Addresses, names without a dot and this machine's
// own name cannot be somebody else's. Programs are not asked, since they go where they are told: what scrapes may use
// any name.
#pragma once

#include <string_view>

namespace mxkv::server {

/// `host`: the header, with or without a port; `own_name`: of the machine. Thread-safety: any thread.
[[nodiscard]] bool is_own_host(std::string_view host, std::string_view own_name) noexcept;

}  // namespace mxkv::server
