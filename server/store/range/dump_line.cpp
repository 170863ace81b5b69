#include "server/store/range/dump_line.hpp"

#include <algorithm>

#include "protocol/reply.hpp"
#include "server/store/item/expiry.hpp"
#include "server/store/watch/uri_key.hpp"

namespace mxkv::server {

namespace {

using protocol::write_number;
using protocol::write_text;

bool has_binary_key(const Item::View& item) noexcept {
  return !protocol::is_printable_key(item.key()) || item.item().marked(Item::kBinary);
}

/// Converts steady seconds to the wall clock.
std::uint64_t by_wall(std::uint64_t steady_s, std::int64_t wall_ahead_s) noexcept {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(static_cast<std::int64_t>(steady_s) + wall_ahead_s, 0));
}

char* write_metadump(char* out, const DumpedItem& item) noexcept {
  out = write_text(write_in_uri(write_text(out, "key="), item.key), " exp=");
  out = item.expires == 0 ? write_text(out, "-1") : write_number(out, item.expires);
  out = write_number(write_text(out, " la="), item.last_access);
  out = write_number(write_text(out, " cas="), item.cas);
  out = write_text(write_text(out, " fetch="), item.accessed ? "yes" : "no");
  out = write_number(write_text(out, " cls=1 size="), item.memory_bytes);
  out = write_number(write_text(out, " flags="), item.flags);
  return write_text(out, "\n");
}

char* write_mgdump(char* out, const DumpedItem& item) noexcept {
  out = write_text(out, "mg ");
  if (!item.binary_key) {
    return write_text(write_text(out, item.key), protocol::kCrLf);
  }
  return write_text(protocol::write_base64(out, item.key), " b\r\n");
}

char* write_cachedump(char* out, const DumpedItem& item) noexcept {
  out = write_text(write_text(write_text(out, "ITEM "), item.key), " [");
  out = write_number(out, item.value_bytes);
  out = write_number(write_text(out, " b; "), item.expires);
  return write_text(out, " s]\r\n");
}

}  // namespace

bool is_dumped(dump_form form, const Item::View& item) noexcept {
  return form != dump_form::cachedump || !has_binary_key(item);
}

char* write_dump_line(char* out, dump_form form, const DumpedItem& item) noexcept {
  switch (form) {
    case dump_form::metadump:
      return write_metadump(out, item);
    case dump_form::mgdump:
      return write_mgdump(out, item);
    case dump_form::cachedump:
      return write_cachedump(out, item);
  }
  return out;
}

char* write_dump_line(char* out, dump_form form, const Item::View& item, std::uint64_t now_us,
                      std::int64_t wall_ahead_s) noexcept {
  const std::uint64_t accessed_us = std::min(item.item().last_access_us(), now_us);
  return write_dump_line(out, form,
                         {.key = item.key(),
                          .value_bytes = item.value_bytes(),
                          .memory_bytes = item.item().memory_bytes(),
                          .expires = item.expiry() == 0 ? 0 : by_wall(item.expiry(), wall_ahead_s),
                          .last_access = by_wall(accessed_us / kUsPerSecond, wall_ahead_s),
                          .cas = item.item().cas(),
                          .flags = item.flags(),
                          .accessed = item.item().accessed(),
                          .binary_key = has_binary_key(item)});
}

}  // namespace mxkv::server
