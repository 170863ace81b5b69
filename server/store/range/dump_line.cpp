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

/// Of the steady time, by the wall clock.
std::uint64_t by_wall(std::uint64_t steady_s, std::int64_t wall_ahead_s) noexcept {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(static_cast<std::int64_t>(steady_s) + wall_ahead_s, 0));
}

char* write_metadump(char* out, const Item::View& item, std::int64_t wall_ahead_s) noexcept {
  out = write_text(write_in_uri(write_text(out, "key="), item.key()), " exp=");
  out = item.expiry() == 0 ? write_text(out, "-1") : write_number(out, by_wall(item.expiry(), wall_ahead_s));
  out = write_number(write_text(out, " la="),
                     by_wall(item.item().last_access_us() / kUsPerSecond, wall_ahead_s));
  out = write_number(write_text(out, " cas="), item.item().unique());
  out = write_text(write_text(out, " fetch="), item.item().accessed() ? "yes" : "no");
  out = write_number(write_text(out, " cls=1 size="), item.item().memory_bytes());
  out = write_number(write_text(out, " flags="), item.flags());
  return write_text(out, "\n");
}

char* write_mgdump(char* out, const Item::View& item) noexcept {
  const std::string_view key = item.key();
  out = write_text(out, "mg ");
  if (!has_binary_key(item)) {
    return write_text(write_text(out, key), protocol::kCrLf);
  }
  return write_text(protocol::write_base64(out, key), " b\r\n");
}

char* write_cachedump(char* out, const Item::View& item, std::int64_t wall_ahead_s) noexcept {
  out = write_text(write_text(write_text(out, "ITEM "), item.key()), " [");
  out = write_number(out, item.value_bytes());
  out = write_number(write_text(out, " b; "), item.expiry() == 0 ? 0 : by_wall(item.expiry(), wall_ahead_s));
  return write_text(out, " s]\r\n");
}

}  // namespace

bool is_dumped(dump_form form, const Item::View& item) noexcept {
  return form != dump_form::cachedump || !has_binary_key(item);
}

char* write_dump_line(char* out, dump_form form, const Item::View& item, std::int64_t wall_ahead_s) noexcept {
  switch (form) {
    case dump_form::metadump:
      return write_metadump(out, item, wall_ahead_s);
    case dump_form::mgdump:
      return write_mgdump(out, item);
    case dump_form::cachedump:
      return write_cachedump(out, item, wall_ahead_s);
  }
  return out;
}

}  // namespace mxkv::server
