// The flags of a meta command (mg ms md ma, rules 31-35), parsed. Plain data without views: it may be copied
// and kept as long as the request's answer is owed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/binary_form.hpp"

namespace mxkv::protocol {

struct MetaFlags {
  static constexpr std::size_t kMostOpaqueBytes = 32;
  static constexpr std::size_t kMostTokens = 20;  ///< of a line, the command among them

  // What the reply repeats, and T N R, whose place among them tells whether t means before or after.
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
  bool tells_access = false;        ///< h or l: whether the item was read before, or when
  BinaryForm binary{};              ///< given: no meta command, but a request of the binary protocol
  std::int64_t exptime = 0;         ///< T: as sent
  std::int64_t vivify_exptime = 0;  ///< N: as sent
  std::int64_t recache = 0;         ///< R: as sent
  std::uint64_t compare = 0;        ///< C
  std::uint64_t unique = 0;         ///< E: the cas unique to be; 0: a fresh one, for no item has the unique 0
  std::uint64_t delta = 1;          ///< D
  std::uint64_t initial = 0;        ///< J

  /// Whether mg with these changes more than who won the item.
  [[nodiscard]] bool changes_item() const noexcept { return vivify || has_exptime; }
  [[nodiscard]] std::string_view wants() const noexcept { return {wanted.data(), wanted_count}; }
  [[nodiscard]] std::string_view opaque() const noexcept { return {opaque_text.data(), opaque_bytes}; }

  /// The reply is to repeat this flag.
  void want(char letter) noexcept {
    wanted[wanted_count++] = letter;
    tells_access = tells_access || letter == 'h' || letter == 'l';
  }
  /// O. False: it is too long.
  [[nodiscard]] bool take_opaque(std::string_view text) noexcept {
    if (text.size() >= kMostOpaqueBytes) {
      return false;
    }
    want('O');
    opaque_bytes = static_cast<std::uint8_t>(text.copy(opaque_text.data(), text.size()));
    return true;
  }
};

/// Those of ms without any, and of mg with v alone: usual lines refer to these.
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

/// First word of a meta reply.
enum class meta_code : std::uint8_t {
  value,       ///< VA: a data block follows
  done,        ///< HD
  miss,        ///< EN
  not_found,   ///< NF
  not_stored,  ///< NS
  exists,      ///< EX
};

}  // namespace mxkv::protocol
