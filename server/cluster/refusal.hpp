// The errors for a request that cannot be executed here, or anywhere now. Each is a whole line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/reply.hpp"
#include "server/reply/connection_table.hpp"

namespace mxkv::server {

/// To another node: nothing was done. It is followed by the owner's address, or "-" if the owner is unknown.
inline constexpr std::string_view kMoved = "SERVER_ERROR moved ";
/// To a client of a node that does not forward.
inline constexpr std::string_view kNotHere = "SERVER_ERROR not here: ";

[[nodiscard]] inline std::string refusal_line(std::string_view before, std::string_view behind) {
  return std::string{before}.append(behind).append("\r\n");
}
[[nodiscard]] inline std::string no_owner_line(std::uint32_t shard) {
  return "SERVER_ERROR shard " + std::to_string(shard) + " has no owner\r\n";
}
/// This node knows an owner of the shard, but has no connection to it.
[[nodiscard]] inline std::string unreachable_line(std::uint32_t shard, std::string_view address) {
  return "SERVER_ERROR shard " + std::to_string(shard) + ": its owner " + std::string{address} +
         " cannot be reached\r\n";
}
/// For a write that was sent: it may have been executed, or may be yet.
[[nodiscard]] inline std::string lost_line(std::uint32_t shard) {
  std::string line{protocol::kOutcomeUnknown};
  line.append(": connection to the owner of shard ").append(std::to_string(shard));
  return line.append(" was lost\r\n");
}
/// For a reply that waited for the log in vain, or whose shard another node took: the write may have been
/// executed, or may be yet.
inline constexpr std::string_view kNotAcknowledged =
    "SERVER_ERROR outcome unknown: the cluster's log has not acknowledged it\r\n";
static_assert(kNotAcknowledged.starts_with(protocol::kOutcomeUnknown));
/// `what`: a range, or a batch. `advice`: what the client can do instead.
[[nodiscard]] inline std::string spans_line(std::string_view what, std::uint32_t one, std::uint32_t other,
                                            std::string_view advice) {
  return std::string{"SERVER_ERROR "}.append(what) + " spans shards " + std::to_string(one) + " and " +
         std::to_string(other) + refusal_line(": ", advice);
}
/// Of a batch, and of an operation that always holds its range.
inline constexpr std::string_view kOneShardEach = "send one for the keys of each shard";
/// Of an operation that holds its range because of the flag X.
inline constexpr std::string_view kOmitX = "omit X, or send one for the keys of each shard";

/// Writes an error instead of a reply; the caller still ends the operation. `end_line` false: the line has
/// further keys, and the client would take the error for the end of all replies: then the connection is
/// closed.
inline void refuse_request(ConnectionTable& replies, const ReplyAddress& address, bool end_line,
                           std::string_view text) {
  if (end_line) [[likely]] {
    replies.reply(address, Seen::nothing(), text);
  } else {
    replies.cut(address);
  }
}

}  // namespace mxkv::server
