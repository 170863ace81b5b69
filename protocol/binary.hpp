// The parser of memcached's binary protocol. In goes a header of 24 bytes and the parts that it announces,
// out comes a Request or an error. No I/O, no allocation, no exceptions.
//
//    0 magic 0x80 | opcode     | key bytes (2)
//    4 extras bytes | data type | reserved (2)
//    8 body bytes (4): extras, key and value together
//   12 opaque (4) | 16 cas (8) | 24 extras | key | value
//
// All numbers are big-endian. A request becomes the same Request as the text command of that meaning: a
// classic verb. Terms that the classic form cannot say (a cas to compare, an initial number) go into the
// flags of the meta form, and so does the opcode, which says how the request is answered.
//
// As in the text protocol, the server receives the value, not the parser. A header that contradicts itself
// closes the connection behind the answer, as memcached does, because the next request could begin anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/binary_form.hpp"
#include "protocol/parser.hpp"

namespace mxkv::protocol {

inline constexpr std::size_t kBinaryHeaderBytes = 24;

/// As sent in answers.
enum class binary_status : std::uint16_t {
  success = 0x00,
  key_missing = 0x01,
  key_exists = 0x02,
  too_large = 0x03,
  invalid = 0x04,
  not_stored = 0x05,
  not_a_number = 0x06,
  auth_error = 0x20,
  unknown_command = 0x81,
  no_memory = 0x82,
  internal_error = 0x84,  ///< the request's outcome is unknown
  refused = 0x86,         ///< for now the server accepts no changes
};

struct BinaryParsed {
  outcome what = outcome::need_more;
  std::size_t consumed = 0;   ///< bytes of the request without its value
  std::uint64_t swallow = 0;  ///< error: bytes that follow and belong to the refused request
  binary_status error = binary_status::success;
  bool delete_key = false;  ///< too large a value of a set: the server deletes request.key first (rule 18)
  bool closes = false;      ///< close behind the answer
};

/// Parses the request at the front of [data, data + size). Its opcode and opaque are in `request.meta` as soon as
/// its header has come. Behind the consumed bytes of a command with a value, and of SASL, follow
/// `request.value_bytes`.
/// Thread-safety: any thread.
[[nodiscard]] BinaryParsed parse_binary(const char* data, std::size_t size, const ParserLimits& limits,
                                        Request& request) noexcept;

/// Whether a client may send this before it has logged in.
[[nodiscard]] constexpr bool precedes_login(opcode code) noexcept {
  return code == opcode::sasl_mechanisms || code == opcode::sasl_auth || code == opcode::sasl_step ||
         code == opcode::version;
}

/// User and password of SASL PLAIN (RFC 4616). The message is the identity to act as, the user and the
/// password, with a NUL between them. No user may act as another one here, so the identity is empty or the
/// user's name.
struct PlainLogin {
  bool good = false;  ///< false: malformed, or the identity is another user's
  std::string_view user;
  std::string_view password;
};
[[nodiscard]] PlainLogin read_plain_login(std::string_view message) noexcept;

}  // namespace mxkv::protocol
