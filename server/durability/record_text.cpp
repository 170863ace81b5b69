#include "server/durability/record_text.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <utility>
#include <variant>

namespace mxkv::server {
namespace {

/// Longer values are not printed.
constexpr std::size_t kMostShownBytes = 64;

constexpr std::uint64_t kMicroseconds = 1'000'000;

/// As in an item; see PutRecord.
constexpr std::uint8_t kStaleMark = 1;
constexpr std::uint8_t kWonMark = 2;
constexpr std::uint8_t kBinaryMark = 4;

/// "2026-11-22 13:51:07", with `between` between day and time.
std::string seconds_text(std::uint64_t unix_s, char between) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) {
    return std::to_string(unix_s) + "s";
  }
  std::array<char, 64> text{};
  std::string format = "%Y-%m-%d %H:%M:%S";
  format[format.find(' ')] = between;
  return {text.data(), std::strftime(text.data(), text.size(), format.c_str(), &parts)};
}

std::string expiry_text(std::uint32_t expiry) {
  return expiry == 0 ? "never" : seconds_text(expiry, 'T') + "Z";
}

/// The words of one line.
class Words {
 public:
  Words(const char* type, std::uint64_t order) : text_(type) { add("order", order); }

  Words& add(const char* name, std::uint64_t number) { return add(name, std::to_string(number)); }
  Words& add(const char* name, const std::string& what) {
    text_.append(" ").append(name).append("=").append(what);
    return *this;
  }
  Words& add(const char* word) {
    text_.append(" ").append(word);
    return *this;
  }
  Words& add(const RecordBounds& bounds) {
    add("from", (bounds.from_is_open ? "(" : "[") + quoted(bounds.from));
    return add("to", bounds.has_no_end ? "end" : quoted(bounds.to) + (bounds.to_is_open ? ")" : "]"));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string text_of(const PutRecord& put) {
  Words words("put", put.order);
  words.add("key", quoted(put.key)).add("bytes", put.apart_bytes != 0 ? put.apart_bytes : put.value.size());
  if (put.apart_bytes == 0 && put.value.size() <= kMostShownBytes) {
    words.add("value", quoted(put.value));
  }
  if (put.flags != 0) {
    words.add("flags", put.flags);
  }
  if (put.expiry != 0) {
    words.add("expiry", expiry_text(put.expiry));
  }
  if (put.has_cas) {
    words.add("cas", put.cas);
  }
  if (put.access != 0) {
    words.add("access", put.access);
  }
  for (const auto& [mark, word] :
       {std::pair{kStaleMark, "stale"}, {kWonMark, "won"}, {kBinaryMark, "binary"}}) {
    if ((put.marks & mark) != 0) {
      words.add(word);
    }
  }
  return words.take();
}

std::string text_of(const GoneRecord& gone) {
  return Words("gone", gone.order)
      .add("key", quoted(gone.key))
      .add(gone.reason == gone_reason::evicted ? "evicted" : "deleted")
      .take();
}

std::string text_of(const TouchRecord& touch) {
  Words words("touch", touch.order);
  words.add("key", quoted(touch.key)).add("expiry", expiry_text(touch.expiry));
  if (touch.access != 0) {
    words.add("access", touch.access);
  }
  return words.take();
}

std::string text_of(const RangeGoneRecord& range) {
  return Words("range_gone", range.order).add(range.bounds).add("items", range.items).take();
}

std::string text_of(const RangeTouchRecord& range) {
  return Words("range_touch", range.order)
      .add(range.bounds)
      .add("items", range.items)
      .add("expiry", expiry_text(range.expiry))
      .add("moment_us", range.moment_us)
      .take();
}

std::string text_of(const FlushRecord& flush) {
  return Words("flush", flush.order).take();
}

std::string text_of(const FlushAtRecord& flush) {
  return Words("flush_at", flush.order).add("point_us", flush.point_us).add("now_us", flush.now_us).take();
}

}  // namespace

std::string quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char byte : bytes) {
    if (byte == '"' || byte == '\\') {
      text += '\\';
      text += byte;
    } else if (byte < ' ' || byte > '~') {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto code = static_cast<unsigned char>(byte);
      text.append("\\x").append({kDigits[code >> 4U], kDigits[code & 15U]});
    } else {
      text += byte;
    }
  }
  return text + '"';
}

std::string utc_text(std::uint64_t unix_us) {
  const std::string milliseconds = std::to_string(1000 + unix_us % kMicroseconds / 1000);
  return seconds_text(unix_us / kMicroseconds, ' ') + "." + milliseconds.substr(1) + " UTC";
}

std::string record_text(const Record& record) {
  return std::visit([](const auto& typed) { return text_of(typed); }, record);
}

}  // namespace mxkv::server
