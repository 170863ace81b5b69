// The reply codes: how a request ended, in whatever protocol the client speaks. One table has, for each code, the
// sentence of the classic protocol, the first word of a meta reply and the status of a binary answer. The server
// decides by codes, and makes words and statuses from them. Only read_reply_code() goes the other way, for replies
// of other nodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/binary.hpp"
#include "protocol/reply.hpp"

namespace mxkv::protocol {

enum class reply_code : std::uint8_t {
  done,
  stored,
  not_stored,
  exists,
  not_found,
  deleted,
  touched,
  value,   ///< the item follows
  number,  ///< the new value follows
  non_numeric,
  no_memory,  ///< for the item
  too_large,
  miss,  ///< a read found no item
  no_request_memory,
  no_reply_memory,
  no_forward_memory,
  wrong_login,
  busy_login,
  crowded_user,
  forbidden,
  outcome_unknown,  ///< the request may have been executed, or may be yet
  refused,          ///< every other error
};

struct ReplyCodeRow {
  reply_code code;
  std::string_view
      text;  ///< without CR LF: the beginning of several sentences. Empty: data, or many sentences
  std::string_view meta;  ///< empty: a meta reply has the classic sentence
  binary_status status;
};

/// In the order of the codes. Of several codes with one meta word, the first is the one that is read.
inline constexpr std::array kReplyCodes{
    ReplyCodeRow{reply_code::done, kOk, "HD", binary_status::success},
    ReplyCodeRow{reply_code::stored, kStored, "HD", binary_status::success},
    ReplyCodeRow{reply_code::not_stored, kNotStored, "NS", binary_status::not_stored},
    ReplyCodeRow{reply_code::exists, kExists, "EX", binary_status::key_exists},
    ReplyCodeRow{reply_code::not_found, kNotFound, "NF", binary_status::key_missing},
    ReplyCodeRow{reply_code::deleted, kDeleted, "HD", binary_status::success},
    ReplyCodeRow{reply_code::touched, kTouched, "HD", binary_status::success},
    ReplyCodeRow{reply_code::value, {}, "VA", binary_status::success},
    ReplyCodeRow{reply_code::number, {}, "VA", binary_status::success},
    ReplyCodeRow{reply_code::non_numeric, kNonNumeric, {}, binary_status::not_a_number},
    ReplyCodeRow{reply_code::no_memory, kOutOfMemory, {}, binary_status::no_memory},
    ReplyCodeRow{reply_code::too_large, kTooLarge, {}, binary_status::too_large},
    ReplyCodeRow{reply_code::miss, kEnd, "EN", binary_status::key_missing},
    ReplyCodeRow{reply_code::no_request_memory, kNoInputMemory, {}, binary_status::no_memory},
    ReplyCodeRow{reply_code::no_reply_memory, kNoReplyMemory, {}, binary_status::no_memory},
    ReplyCodeRow{reply_code::no_forward_memory, kNoForwardMemory, {}, binary_status::no_memory},
    ReplyCodeRow{reply_code::wrong_login, kWrongLogin, {}, binary_status::auth_error},
    ReplyCodeRow{reply_code::busy_login, kBusyLogin, {}, binary_status::auth_error},
    ReplyCodeRow{reply_code::crowded_user, kTooManyOfUser, {}, binary_status::auth_error},
    ReplyCodeRow{reply_code::forbidden, kForbidden, {}, binary_status::auth_error},
    ReplyCodeRow{reply_code::outcome_unknown, kOutcomeUnknown, {}, binary_status::internal_error},
    ReplyCodeRow{reply_code::refused, {}, {}, binary_status::refused},
};
static_assert(
    [] {
      for (std::size_t i = 0; i < kReplyCodes.size(); ++i) {
        if (static_cast<std::size_t>(kReplyCodes[i].code) != i) {
          return false;
        }
      }
      return true;
    }(),
    "a row stands at its code's place");

// Thread-safety: any thread.

[[nodiscard]] constexpr const ReplyCodeRow& row_of(reply_code code) noexcept {
  return kReplyCodes[static_cast<std::size_t>(code)];
}
/// The classic sentence; empty if the code has none of its own.
[[nodiscard]] constexpr std::string_view text_of(reply_code code) noexcept {
  return row_of(code).text;
}
/// The status for a request with the opcode `asked`: an add that is not stored has met an item, a replace has
/// met none.
[[nodiscard]] constexpr binary_status status_of(reply_code code, opcode asked = opcode::none) noexcept {
  if (code == reply_code::not_stored) {
    const opcode plain = plain_form_of(asked);
    return plain == opcode::add       ? binary_status::key_exists
           : plain == opcode::replace ? binary_status::key_missing
                                      : binary_status::not_stored;
  }
  return row_of(code).status;
}

/// The code of another server's reply, by its first line: refused if no row has it.
[[nodiscard]] reply_code read_reply_code(std::string_view reply) noexcept;

}  // namespace mxkv::protocol
