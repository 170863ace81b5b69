// The line of an item in a dump, in memcached's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/reply.hpp"
#include "server/store/item/item.hpp"
#include "server/store/range/dump_progress.hpp"

namespace mxkv::server {

inline constexpr std::size_t kMostDumpLineBytes = 3 * index::kMaxKeyBytes + 256;

/// The fields of a line. Times are by the wall clock, in seconds.
struct DumpedItem {
  std::string_view key{};
  std::uint64_t value_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t expires = 0;  ///< 0: never
  std::uint64_t last_access = 0;
  std::uint64_t cas = 0;
  std::uint32_t flags = 0;
  bool accessed = false;
  bool binary_key = false;
};

/// Whether the dump lists this live item.
[[nodiscard]] bool is_dumped(dump_form form, const Item::View& item) noexcept;
/// Writes the item's line, at most kMostDumpLineBytes. Times are by the wall clock, as absolute
/// exptimes are.
char* write_dump_line(char* out, dump_form form, const Item::View& item, std::uint64_t now_us,
                      std::int64_t wall_ahead_s) noexcept;
/// The same for an item of another node.
char* write_dump_line(char* out, dump_form form, const DumpedItem& item) noexcept;

/// The line behind the last item.
[[nodiscard]] inline std::string_view end_of_dump(dump_form form) noexcept {
  return form == dump_form::mgdump ? protocol::kMetaMiss : protocol::kEnd;
}

}  // namespace mxkv::server
