#include "server/feed/watch_lines.hpp"

#include <array>
#include <type_traits>
#include <variant>

#include "protocol/reply.hpp"
#include "protocol/words.hpp"
#include "server/store/item/expiry.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint8_t kStaleMark = 1;  // of a put's marks: record.hpp
constexpr std::size_t kMostKeyText = 4 * (kMostKeyBytes + 3) / 3 + 4;

void add_encoded(std::string& out, std::string_view key) {
  std::array<char, kMostKeyText> text;
  out.append(text.data(), static_cast<std::size_t>(protocol::write_base64(text.data(), key) - text.data()));
}

/// A key behind its letter; says with `b` that it is in base64. The empty key begins all ranges and is written as it is.
void add_key(std::string& out, std::string_view key, bool base64) {
  if (!base64 && (key.empty() || protocol::is_printable_key(key))) {
    out.append(" k").append(key);
    return;
  }
  out.append(" k");
  add_encoded(out, key);
  out.append(" b");
}

/// Both bounds of a range. A bound that ends in a NUL byte is the one just behind a key, so it is written as that key
/// with `o` for the lower bound and `i` for the upper one.
void add_span(std::string& out, const KeySpan& span, bool base64) {
  const bool skips_low = span.low.ends_with('\0');
  const bool has_high = !span.endless && span.high.ends_with('\0');
  std::string_view low = span.low;
  std::string_view high = span.high;
  low.remove_suffix(skips_low ? 1 : 0);
  high.remove_suffix(has_high ? 1 : 0);
  const auto plain = [](std::string_view key) { return key.empty() || protocol::is_printable_key(key); };
  const bool encoded = base64 || !plain(low) || !plain(high);
  const auto add = [&](std::string_view letter, std::string_view key) {
    out.append(letter);
    if (encoded) {
      add_encoded(out, key);
    } else {
      out.append(key);
    }
  };
  add(" k", low);
  if (!span.endless) {
    add(" H", high);
  }
  out.append(encoded ? " b" : "").append(skips_low ? " o" : "").append(has_high ? " i" : "");
}

void add_seconds(std::string& out, std::uint64_t expiry_s, std::uint64_t now_us) {
  const std::uint64_t now_s = now_us / kUsPerSecond;
  out.append(" t");
  out.append(expiry_s == 0 ? "-1" : std::to_string(expiry_s > now_s ? expiry_s - now_s : 0));
}

void write(std::string& out, const PutRecord& put, std::string_view apart, const WatchForm& form,
           std::uint64_t now_us, std::size_t value_bytes) {
  const std::uint64_t bytes = put.apart_bytes != 0 ? put.apart_bytes : put.value.size();
  const bool with_value = form.values && bytes <= value_bytes;
  if (with_value) {
    out.append("WV ").append(std::to_string(bytes));
  } else {
    out.append("WP");
  }
  add_key(out, put.key, form.base64);
  for (const char letter : form.shows) {
    switch (letter) {
      case 'c':
        out.append(" c").append(std::to_string(put.has_cas ? put.cas : put.order));
        break;
      case 'f':
        out.append(" f").append(std::to_string(put.flags));
        break;
      case 's':
        out.append(" s").append(std::to_string(bytes));
        break;
      default:
        add_seconds(out, put.expiry, now_us);
        break;
    }
  }
  if (form.values && !with_value && form.shows.find('s') == std::string::npos) {
    out.append(" s").append(std::to_string(bytes));  // the client learns that there is a value to be fetched
  }
  out.append((put.marks & kStaleMark) != 0 ? " X\r\n" : "\r\n");
  if (with_value) {
    out.append(put.apart_bytes != 0 ? apart : put.value).append("\r\n");
  }
}

}  // namespace

std::uint8_t kind_of(const Record& record) noexcept {
  return std::visit(
      [](const auto& typed) -> std::uint8_t {
        using R = std::remove_cvref_t<decltype(typed)>;
        if constexpr (std::is_same_v<R, PutRecord>) {
          return told::kPut;
        } else if constexpr (std::is_same_v<R, GoneRecord>) {
          return typed.reason == gone_reason::evicted ? told::kEvicted : told::kDeleted;
        } else if constexpr (std::is_same_v<R, TouchRecord> || std::is_same_v<R, RangeTouchRecord>) {
          return told::kTouched;
        } else {
          return told::kDeleted;
        }
      },
      record);
}

std::uint64_t order_of(const Record& record) noexcept {
  return std::visit([](const auto& typed) { return typed.order; }, record);
}

std::string_view key_of(const Record& record) noexcept {
  return std::visit(
      [](const auto& typed) -> std::string_view {
        if constexpr (requires { typed.key; }) {
          return typed.key;
        } else {
          return {};
        }
      },
      record);
}

KeySpan span_of(const Record& record) {
  return std::visit(
      [](const auto& typed) -> KeySpan {
        if constexpr (requires { typed.bounds; }) {
          return span_of(typed.bounds);
        } else {
          return {};
        }
      },
      record);
}

void write_change(std::string& out, const ChangeRecord& change, const WatchForm& form, std::uint64_t now_us,
                  std::size_t value_bytes) {
  std::visit(
      [&](const auto& typed) {
        using R = std::remove_cvref_t<decltype(typed)>;
        if constexpr (std::is_same_v<R, PutRecord>) {
          write(out, typed, change.apart, form, now_us, value_bytes);
        } else if constexpr (std::is_same_v<R, GoneRecord>) {
          out.append("WG");
          add_key(out, typed.key, form.base64);
          out.append(typed.reason == gone_reason::evicted ? " Re\r\n" : " Rd\r\n");
        } else if constexpr (std::is_same_v<R, TouchRecord>) {
          out.append("WT");
          add_key(out, typed.key, form.base64);
          add_seconds(out, typed.expiry, now_us);
          out.append("\r\n");
        } else if constexpr (std::is_same_v<R, RangeTouchRecord>) {
          out.append("WY");
          add_span(out, span_of(change.record).cut_to(form.span), form.base64);
          add_seconds(out, typed.expiry, now_us);
          out.append("\r\n");
        } else {
          out.append("WX");
          add_span(out, span_of(change.record).cut_to(form.span), form.base64);
          out.append(std::is_same_v<R, RangeGoneRecord> ? " Rd" : " Rf");
          if constexpr (std::is_same_v<R, FlushAtRecord>) {
            add_seconds(out, typed.point_us / kUsPerSecond, now_us);
          }
          out.append("\r\n");
        }
      },
      change.record);
}

void write_batch(std::string& out, std::size_t lines) {
  out.append("WB ").append(std::to_string(lines)).append("\r\n");
}

}  // namespace mxkv::server
