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

  /// The text behind the letter of a flag, or nothing if the reply does not have the flag. Not for `ME` and
  /// `EX`, which have words that are not flags.
  [[nodiscard]] std::optional<std::string_view> flag(char letter) const noexcept;
  /// The same as a number; 0 if it is no number.
  [[nodiscard]] std::uint64_t number(char letter) const noexcept;
  [[nodiscard]] bool has(char letter) const noexcept { return flag(letter).has_value(); }
  [[nodiscard]] bool is_error() const noexcept;
  /// The key of `k`, decoded if there is a `b`.
  [[nodiscard]] std::string key() const;
  /// The same into an existing string. Returns false if there is no key.
  bool key_into(std::string& key) const;
};

/// Reads the reply at the beginning of `bytes` and returns its length, or 0 if more bytes are needed. Throws
/// Failure (Outcome::unreachable) if it cannot be a reply.
[[nodiscard]] std::size_t read_meta_reply(std::string_view bytes, MetaReply& reply);

/// Throws the server's error as a Failure; Outcome::login if it requires a login.
[[noreturn]] void throw_refusal(std::string_view line);
/// The same, if it is a refusal.
void expect_no_error(const MetaReply& reply);

}  // namespace mxkv::cli
