#include "server/cluster/reply_frame.hpp"

#include "protocol/numbers.hpp"
#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

constexpr std::string_view kValue = "VALUE ";
constexpr std::string_view kMetaData = "VA ";

/// The n-th word of a line, from 0.
std::string_view word_of(std::string_view line, int n) noexcept {
  for (; n > 0; --n) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) {
      return {};
    }
    line.remove_prefix(space + 1);
  }
  return line.substr(0, line.find_first_of(" \r"));
}

}  // namespace

// Skips a data block by its length, whatever bytes it has.
bool ReplyFrame::find_end(std::string_view bytes) noexcept {
  while (!failed_ && !ended_ && at_ <= bytes.size()) {
    const std::string_view rest = bytes.substr(at_);
    const std::size_t end = rest.find('\n', searched_);
    if (end == std::string_view::npos) {
      searched_ = rest.size();
      failed_ = rest.size() > kLongestLine;
      return false;
    }
    searched_ = 0;
    at_ += end + 1;
    ended_ = take_line(rest.substr(0, end + 1));
  }
  MXKV_ASSERT(!ended_ || reply_bytes_ <= at_, "a reply ends before the noop behind it");
  return ended_ && at_ <= bytes.size();
}

// True: the reply ends with this line, or with its block.
bool ReplyFrame::take_line(std::string_view line) noexcept {
  const bool classic = line.starts_with(kValue);
  if (classic || line.starts_with(kMetaData)) {
    std::uint64_t data = 0;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    if (!protocol::read_u64(word_of(line, classic ? 3 : 1), data) || data > kMost) {
      failed_ = true;
      return false;
    }
    at_ += static_cast<std::size_t>(data) + protocol::kCrLf.size();
    if (shape_ == reply_shape::one && !classic) {
      reply_bytes_ = at_;
      return true;
    }
    return false;
  }
  if (shape_ == reply_shape::one) {
    reply_bytes_ = at_;
    return true;
  }
  if (line == protocol::kMetaNoop) {
    reply_bytes_ = at_ - line.size();
    return true;
  }
  return false;
}

}  // namespace mxkv::server
