// What a meta command answers (protocol rules 31-35).
#pragma once

#include "protocol/meta.hpp"
#include "server/reply/reply_queue.hpp"
#include "server/store/item/item.hpp"

namespace mxkv::server {

/// What the command found out about the item as it was before, and did to it. Times are unix seconds, 0:
/// never.
struct MetaFindings {
  std::uint64_t cas = 0;  ///< of which version this is
  std::uint64_t last_access_us = 0;
  std::uint32_t expiry = 0;          ///< before
  std::uint32_t touched_expiry = 0;  ///< by T
  std::uint32_t made_expiry = 0;     ///< by N, if `made`
  bool accessed = false;
  bool made = false;   ///< by N, where nothing was
  bool stale = false;  ///< X
  bool sent = false;   ///< Z: another client has won it
  bool won = false;    ///< W

  /// As the item is now.
  [[nodiscard]] static MetaFindings of(const Item& item) noexcept;
};

/// One answer. Everything refers to what is safe to read.
struct MetaAnswer {
  protocol::meta_code code;
  std::string_view shows;  ///< letters of flags that the command answers here
  std::string_view key;
  bool binary_key = false;     ///< the key goes out in base64
  const Item* item = nullptr;  ///< for f, and for the data block of `value` unless there is a number
  std::uint64_t size = 0;
  std::uint64_t unique = 0;
  std::string_view number{};  ///< ma: the data block of `value`
};

/// Writes the reply; the ticket stays open.
void write_meta(ReplyQueue& queue, std::uint32_t ticket, const MetaAnswer& answer,
                const protocol::MetaFlags& flags, const MetaFindings& findings, runtime::Worker& worker);

/// Most bytes of a meta reply without its data block.
inline constexpr std::size_t kMostMetaLineBytes = 640;

/// Writes the line of one item of a range (mr): VA <size> or HD, the key, what the flags want of the item as
/// it is, CR LF. Needs kMostMetaLineBytes.
char* write_meta_item_line(char* out, const Item::View& item, const protocol::MetaFlags& flags,
                           std::uint64_t now_us) noexcept;
/// Ends the last line of a range: opaque, CR LF.
char* end_meta_line(char* out, const protocol::MetaFlags& flags) noexcept;

/// Writes what me answers for an item that is there.
void write_meta_debug(ReplyQueue& queue, std::uint32_t ticket, const Item& item, runtime::Worker& worker);

}  // namespace mxkv::server
