// What a dump tells of an item, in memcached's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/reply.hpp"
#include "server/store/item/item.hpp"
#include "server/store/range/dump_progress.hpp"

namespace mxkv::server {

inline constexpr std::size_t kMostDumpLineBytes = 3 * index::kMaxKeyBytes + 256;

/// Whether an item that is there has a line.
[[nodiscard]] bool is_dumped(dump_form form, const Item::View& item) noexcept;
/// Its line, at most kMostDumpLineBytes. Times are told by the wall clock, as absolute exptimes are.
char* write_dump_line(char* out, dump_form form, const Item::View& item, std::int64_t wall_ahead_s) noexcept;

/// What follows the last line.
[[nodiscard]] inline std::string_view end_of_dump(dump_form form) noexcept {
  return form == dump_form::mgdump ? protocol::kMetaMiss : protocol::kEnd;
}

}  // namespace mxkv::server
