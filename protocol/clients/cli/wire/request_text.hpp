// Lines of requests: keys as they are where the text form can carry them, else in base64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/command_table.hpp"

namespace mxkv::cli {

/// Whether a line can hold the key as it is.
[[nodiscard]] bool is_plain_key(std::string_view key) noexcept;
[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Throws Failure (Outcome::usage) if this is not a valid key.
void check_key(std::string_view key);

/// Appends the command's word and the key to `out`, with ` b` if the key is in base64.
void append_command(std::string& out, protocol::verb op, std::string_view key);
/// How an item is stored.
struct StoreOptions {
  char mode = 'S';  ///< of the flag M of ms
  std::uint32_t flags = 0;
  std::optional<std::int64_t> seconds{};   ///< to live; or, beyond 30 days, unix time
  std::optional<std::uint64_t> compare{};  ///< only over this unique
  std::optional<std::uint64_t> unique{};   ///< the item's new unique
  bool quiet = false;
};
/// A whole ms request.
void append_store(std::string& out, std::string_view key, std::string_view value,
                  const StoreOptions& options);

/// Keys between two bounds, or with a prefix. All keys by default.
struct Range {
  std::optional<std::string> prefix{};
  std::optional<std::string> from{};  ///< inclusive, unless from_exclusive
  std::optional<std::string> to{};    ///< exclusive
  bool from_exclusive = false;
  bool reverse = false;
};
/// The first words of mr, mc, mx or mt: command, start and the flags of the range.
[[nodiscard]] std::string range_line(protocol::verb op, const Range& range);
/// The same keys without a prefix: a page may then begin behind any key.
[[nodiscard]] Range as_bounds(const Range& range);

}  // namespace mxkv::cli
