// What is said where a request cannot be done here, or anywhere now. Each is a whole line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/reply/connection_table.hpp"

namespace mxkv::server {

/// To another node: nothing was done; that one may have it, or nobody that is known.
inline constexpr std::string_view kMoved = "SERVER_ERROR moved ";
/// To a client, where nothing is sent on.
inline constexpr std::string_view kNotHere = "SERVER_ERROR not here: ";
inline constexpr std::string_view kNoForwardMemory = "SERVER_ERROR out of memory forwarding\r\n";

[[nodiscard]] inline std::string refusal_line(std::string_view before, std::string_view behind) {
  return std::string{before}.append(behind).append("\r\n");
}
[[nodiscard]] inline std::string no_owner_line(std::uint32_t shard) {
  return "SERVER_ERROR shard " + std::to_string(shard) + " has no owner\r\n";
}
/// The shard has an owner, as far as this node knows, and no connection to that node stands.
[[nodiscard]] inline std::string unreachable_line(std::uint32_t shard, std::string_view address) {
  return "SERVER_ERROR shard " + std::to_string(shard) + ": its owner " + std::string{address} +
         " cannot be reached\r\n";
}
/// Of a write that was sent: it may have been done, or may be yet.
[[nodiscard]] inline std::string lost_line(std::uint32_t shard) {
  return "SERVER_ERROR outcome unknown: connection to the owner of shard " + std::to_string(shard) +
         " was lost\r\n";
}
/// Of what waited for the log in vain, or for a shard that is another node's now: it may have been done, or may be yet.
inline constexpr std::string_view kNotAcknowledged =
    "SERVER_ERROR outcome unknown: the cluster's log has not acknowledged it\r\n";
/// `what`: a range, or a batch.
[[nodiscard]] inline std::string spans_line(std::string_view what, std::uint32_t one, std::uint32_t other) {
  return std::string{"SERVER_ERROR "}.append(what) + " spans shards " + std::to_string(one) + " and " +
         std::to_string(other) + "\r\n";
}

/// Writes an error in place of a reply; the operation is still to be ended. `end_line`: false: others of its line
/// follow, to whose client it would look like the end of them all: then the connection is closed.
inline void refuse_request(ConnectionTable& replies, const ReplyAddress& address, bool end_line,
                           std::string_view text) {
  if (end_line) [[likely]] {
    replies.reply(address, text);
  } else {
    replies.cut(address);
  }
}

}  // namespace mxkv::server
