// Replies of the binary protocol that a session writes itself, without the store.
#pragma once

#include <string>
#include <string_view>

#include "protocol/binary.hpp"
#include "protocol/request.hpp"
#include "server/net/session/session_core.hpp"

namespace mxkv::server {

/// A quiet request is answered only on failure.
void answer_binary(SessionCore& core, protocol::BinaryForm form, protocol::binary_status status);
/// `text` is short.
void answer_binary_text(SessionCore& core, protocol::BinaryForm form, std::string_view text);
/// Converts a page of the text protocol.
[[nodiscard]] std::string binary_text(const protocol::Request& request, std::string_view text,
                                      const AdminCursor& cursor);

}  // namespace mxkv::server
