// Replies to meta commands (protocol rules 31-35), and the lines of ranges in that style.
#pragma once

#include "server/reply/reply_queue.hpp"
#include "server/store/point/point_outcome.hpp"

namespace mxkv::server {

/// Writes the reply of mg ms md ma to a result that is no error, or nothing if q hides it. The ticket stays
/// open. Home worker only.
void write_meta_reply(ReplyQueue& queue, std::uint32_t ticket, const PointOutcome& outcome,
                      runtime::Worker& worker);

/// Most bytes of a meta reply without its data block.
inline constexpr std::size_t kMostMetaLineBytes = 640;

/// Writes the line of one item of a range (mr): VA <size> or HD, the key, the values of the flags for the
/// item, CR LF. Needs kMostMetaLineBytes.
char* write_meta_item_line(char* out, const Item::View& item, const protocol::MetaFlags& flags,
                           std::uint64_t now_us) noexcept;
/// Ends the last line of a range: opaque, CR LF.
char* end_meta_line(char* out, const protocol::MetaFlags& flags) noexcept;

/// Writes the reply of me for an item that is there.
void write_meta_debug(ReplyQueue& queue, std::uint32_t ticket, const Item& item, runtime::Worker& worker);

}  // namespace mxkv::server
