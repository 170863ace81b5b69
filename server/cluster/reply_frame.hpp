// Finds the end of a reply of another server. It knows the form of all replies of the text protocol, not
// their meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mxkv::server {

/// The rule by which a reply ends.
enum class reply_shape : std::uint8_t {
  one,         ///< the reply to a one-key request: a line, with its data block; a classic block has an END
  until_noop,  ///< anything, maybe nothing: an mn followed the request, and its MN ends the reply
};

/// Finds the end of the first reply in a growing buffer. Thread-safety: as a plain value.
class ReplyFrame {
 public:
  explicit ReplyFrame(reply_shape shape = reply_shape::one) noexcept : shape_(shape) {}

  /// Looks at the bytes from the reply's beginning on, which only grow from call to call. True: the reply is
  /// complete.
  [[nodiscard]] bool find_end(std::string_view bytes) noexcept;
  /// The bytes of the reply, without an MN that ends it.
  [[nodiscard]] std::size_t reply_bytes() const noexcept { return reply_bytes_; }
  /// The same with the MN.
  [[nodiscard]] std::size_t all_bytes() const noexcept { return at_; }
  /// The bytes are no reply.
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  static constexpr std::size_t kLongestLine = std::size_t{64} << 10U;

  [[nodiscard]] bool take_line(std::string_view line) noexcept;

  reply_shape shape_;
  bool failed_ = false;
  bool ended_ = false;        ///< the end is known: at_, which may not have arrived yet
  std::size_t at_ = 0;        ///< all before it is parsed
  std::size_t searched_ = 0;  ///< bytes after at_ without an end of line
  std::size_t reply_bytes_ = 0;
};

}  // namespace mxkv::server
