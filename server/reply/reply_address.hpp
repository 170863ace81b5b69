// Where a reply goes, and what its operation holds of the connection's order. Sixteen bytes, kept in tasks.
//
// A reply that comes after its connection closed is harmless: the connection's entry in the table lives until
// the last of its operations ended, and says that it is closed.
#pragma once

#include <cstdint>

namespace mxkv::server {

struct ConnectionState;

/// Position of a write in the order in which its connection's writes commit. Wraps around.
using CommitSeq = std::uint32_t;

/// What an operation is to the order that its client sees.
enum class operation_kind : std::uint8_t {
  read,       ///< get, gets of one key
  write,      ///< changes one key; holds a CommitSeq
  exclusive,  ///< reads a key and changes it without a CommitSeq: gat, gats; or tells of reads: me, mg with h, l
  range,      ///< reads many keys
  barrier,  ///< alone: flush_all, stats
};

struct ReplyAddress {
  static constexpr std::uint32_t kNoTicket = ~std::uint32_t{0};  ///< noreply: no answer is wanted

  ConnectionState* connection = nullptr;  ///< of the home worker's ConnectionTable; touched there alone
  std::uint32_t ticket = kNoTicket;       ///< position of the reply
  std::uint16_t worker = 0;               ///< home worker: replies are written and ended there, nowhere else
  std::uint16_t claim = 0;                ///< what RequestOrder::try_start() took

  [[nodiscard]] bool wants_reply() const noexcept { return ticket != kNoTicket; }
};

static_assert(sizeof(ReplyAddress) == 16);

}  // namespace mxkv::server
