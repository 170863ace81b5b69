// The place of a reply, and its operation's claim in the connection's order. Sixteen bytes, kept in tasks.
//
// A reply after its connection closed is harmless: the connection's entry in the table lives until the last
// of its operations has ended, and says that it is closed.
#pragma once

#include <cstdint>

namespace mxkv::server {

struct ConnectionState;

/// Position of a write in the order in which its connection's writes commit. Wraps around.
using CommitSeq = std::uint32_t;

/// How an operation counts in the order that its client sees.
enum class operation_kind : std::uint8_t {
  read,       ///< get, gets of one key
  write,      ///< changes one key, and has a CommitSeq
  exclusive,  ///< reads and changes a key without a CommitSeq: gat, gats; or shows reads: me, mg with h, l
  range,      ///< reads many keys
  barrier,    ///< runs alone: flush_all, stats
};
/// Whether such operations have one key. Only these may wait behind others and be overtaken.
[[nodiscard]] constexpr bool has_one_key(operation_kind kind) noexcept {
  return kind == operation_kind::read || kind == operation_kind::write || kind == operation_kind::exclusive;
}

struct ReplyAddress {
  static constexpr std::uint32_t kNoTicket = ~std::uint32_t{0};  ///< noreply: the client wants no reply

  ConnectionState* connection = nullptr;  ///< in the home worker's ConnectionTable; used on that worker only
  std::uint32_t ticket = kNoTicket;       ///< position of the reply
  std::uint16_t worker = 0;               ///< home worker: replies are written and ended on it only
  std::uint16_t claim = 0;                ///< from RequestOrder::try_start()

  [[nodiscard]] bool wants_reply() const noexcept { return ticket != kNoTicket; }
};

static_assert(sizeof(ReplyAddress) == 16);

}  // namespace mxkv::server
