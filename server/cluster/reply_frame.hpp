// Where a reply ends that another server sent: all replies of the text protocol, and nothing of what they say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mxkv::server {

/// How a reply is told from the next one.
enum class reply_shape : std::uint8_t {
  one,  ///< of a request for one key: a line, with its data block; an END behind a block of the classic form
  until_noop,  ///< anything, maybe nothing: an mn was sent behind the request, and MN is the reply's end
};

/// Finds the end of the first reply in bytes that grow. Thread-safety: that of a plain value.
class ReplyFrame {
 public:
  explicit ReplyFrame(reply_shape shape = reply_shape::one) noexcept : shape_(shape) {}

  /// Looks at the bytes from the reply's beginning on, of which there are as many as before, or more. True: it is
  /// whole.
  [[nodiscard]] bool find_end(std::string_view bytes) noexcept;
  /// What is whole: without the MN, if that is its end.
  [[nodiscard]] std::size_t reply_bytes() const noexcept { return reply_bytes_; }
  /// The same with it.
  [[nodiscard]] std::size_t all_bytes() const noexcept { return at_; }
  /// What was sent is no reply.
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  static constexpr std::size_t kLongestLine = std::size_t{64} << 10U;

  [[nodiscard]] bool take_line(std::string_view line) noexcept;

  reply_shape shape_;
  bool failed_ = false;
  bool ended_ = false;        ///< it is known where it ends: at at_, which may still have to come
  std::size_t at_ = 0;        ///< behind what was taken
  std::size_t searched_ = 0;  ///< of what follows, that holds no end of line
  std::size_t reply_bytes_ = 0;
};

}  // namespace mxkv::server
