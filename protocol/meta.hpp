// The flags of a meta command (mg ms md ma, rules 31-35), parsed. Plain data without views, so a copy may be
// kept until the request is answered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/binary_form.hpp"

namespace mxkv::protocol {

struct MetaFlags {
  static constexpr std::size_t kMostOpaqueBytes = 32;
  static constexpr std::size_t kMostTokens = 20;  ///< of a line, with the command

  // The flags that the reply repeats, and T N R, because t before or behind them means the old or the new
  // time.
  std::array<char, 12> wanted{};
  std::uint8_t wanted_count = 0;
  std::uint8_t opaque_bytes = 0;
  std::array<char, kMostOpaqueBytes> opaque_text{};

  char mode = 0;                    ///< M: as sent; 0: not given
  bool quiet = false;               ///< q
  bool value = false;               ///< v
  bool no_bump = false;             ///< u
  bool invalidate = false;          ///< I
  bool remove_value = false;        ///< x
  bool binary_key = false;          ///< b: the key came in base64
  bool has_compare = false;         ///< C
  bool has_exptime = false;         ///< T
  bool vivify = false;              ///< N
  bool has_recache = false;         ///< R
  bool tells_access = false;        ///< h or l: the reply says whether, or when, the item was read before
  BinaryForm binary{};              ///< if given, the request is binary and no meta command
  std::int64_t exptime = 0;         ///< T: as sent
  std::int64_t vivify_exptime = 0;  ///< N: as sent
  std::int64_t recache = 0;         ///< R: as sent
  std::uint64_t compare = 0;        ///< C
  std::uint64_t cas = 0;            ///< E: the item's new cas; 0: a fresh one, because no item has the cas 0
  std::uint64_t delta = 1;          ///< D
  std::uint64_t initial = 0;        ///< J

  /// Whether mg with these flags changes the item. Marking its winner does not count.
  [[nodiscard]] bool changes_item() const noexcept { return vivify || has_exptime; }
  [[nodiscard]] std::string_view wants() const noexcept { return {wanted.data(), wanted_count}; }
  [[nodiscard]] std::string_view opaque() const noexcept { return {opaque_text.data(), opaque_bytes}; }

  /// Notes that the reply repeats this flag.
  void want(char letter) noexcept {
    wanted[wanted_count++] = letter;
    tells_access = tells_access || letter == 'h' || letter == 'l';
  }
  /// Takes the text of O. False if it is too long.
  [[nodiscard]] bool take_opaque(std::string_view text) noexcept {
    if (text.size() >= kMostOpaqueBytes) {
      return false;
    }
    want('O');
    opaque_bytes = static_cast<std::uint8_t>(text.copy(opaque_text.data(), text.size()));
    return true;
  }
};

/// The flags of usual lines: ms without flags, and mg with v alone.
inline constexpr MetaFlags kNoMetaFlags{};
inline constexpr MetaFlags kValueAlone = [] {
  MetaFlags flags;
  flags.value = true;
  return flags;
}();

/// Of md with b alone.
inline constexpr MetaFlags kBinaryKeyAlone = [] {
  MetaFlags flags;
  flags.binary_key = true;
  return flags;
}();

}  // namespace mxkv::protocol
