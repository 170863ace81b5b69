#include "protocol/reply_codes.hpp"

namespace mxkv::protocol {

reply_code read_reply_code(std::string_view reply) noexcept {
  const std::string_view word = reply.substr(0, reply.find_first_of(" \r\n"));
  for (const ReplyCodeRow& row : kReplyCodes) {
    if (!row.meta.empty() && word == row.meta) {
      return row.code;
    }
  }
  for (const ReplyCodeRow& row : kReplyCodes) {
    if (!row.text.empty() && reply.starts_with(row.text)) {
      return row.code;
    }
  }
  return reply_code::refused;
}

}  // namespace mxkv::protocol
