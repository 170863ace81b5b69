// Replies of meta commands, read from bytes: no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mxkv::cli {

/// A line, and the value behind it. Points into the bytes that it was read from.
struct MetaReply {
  std::string_view line{};
  std::string_view code{};  ///< VA HD EN NF NS EX ME MN, or ERROR, CLIENT_ERROR, SERVER_ERROR
  std::string_view rest{};  ///< the words behind the code, and behind the length of VA
  std::string_view value{};
  bool has_value = false;

  /// What stands behind the letter of a flag; nothing: the flag is not there. The words before the first flag of
  /// `ME` and `EX` are not flags: do not ask.
  [[nodiscard]] std::optional<std::string_view> flag(char letter) const noexcept;
  /// The same as a number; 0 where it is none.
  [[nodiscard]] std::uint64_t number(char letter) const noexcept;
  [[nodiscard]] bool has(char letter) const noexcept { return flag(letter).has_value(); }
  [[nodiscard]] bool is_error() const noexcept;
  /// The key of `k`, decoded where a `b` says so.
  [[nodiscard]] std::string key() const;
  /// The same into a string that is there. False: no key.
  bool key_into(std::string& key) const;
};

/// How many bytes the reply at the beginning of `bytes` takes; 0: more is needed. Throws Failure
/// (Outcome::unreachable) where it cannot be a reply.
[[nodiscard]] std::size_t read_meta_reply(std::string_view bytes, MetaReply& reply);

/// Throws what the server refused: Outcome::login where it wants to know who this is.
[[noreturn]] void throw_refusal(std::string_view line);
/// The same, if it is a refusal.
void expect_no_error(const MetaReply& reply);

}  // namespace mxkv::cli
