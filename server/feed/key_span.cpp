#include "server/feed/key_span.hpp"

namespace mxkv::server {

namespace {

/// The least text above `key`.
std::string behind(std::string_view key) {
  std::string next{key};
  next.push_back('\0');
  return next;
}

}  // namespace

KeySpan span_of_prefix(std::string_view prefix) {
  KeySpan span{.low = std::string{prefix}};
  const std::size_t last = prefix.find_last_not_of('\xFF');
  if (last != std::string_view::npos) {
    span.high = prefix.substr(0, last + 1);
    span.high.back() = static_cast<char>(static_cast<unsigned char>(span.high.back()) + 1U);
    span.endless = false;
  }
  return span;
}

KeySpan span_of(const RecordBounds& bounds) {
  KeySpan span{.low = bounds.from_is_open ? behind(bounds.from) : std::string{bounds.from}};
  if (!bounds.has_no_end) {
    span.high = bounds.to_is_open ? std::string{bounds.to} : behind(bounds.to);
    span.endless = false;
  }
  return span;
}

KeySpan span_of(const protocol::RangeRequest& range) {
  if (range.by_prefix) {
    return span_of_prefix(range.prefix);
  }
  KeySpan span;
  if (!range.low.unbounded) {
    span.low = range.low.inclusive ? std::string{range.low.key} : behind(range.low.key);
  }
  if (!range.high.unbounded) {
    span.high = range.high.inclusive ? behind(range.high.key) : std::string{range.high.key};
    span.endless = false;
  }
  return span;
}

}  // namespace mxkv::server
