// Cursors are base64 of
//   version | flags | checksum (4) | length, last key | length, prefix or far bound
// The checksum finds accidents (a cut or mistyped text). It is not secret and need not be, because a forged
// cursor can ask for nothing that a scan with bounds could not.
#include "protocol/cursor.hpp"

#include <array>
#include <cstdint>
#include <cstring>

#include "protocol/reply.hpp"

namespace mxkv::protocol {
namespace {

constexpr char kVersion = 1;
constexpr std::size_t kHeaderBytes = 6;
constexpr std::size_t kMaxRawBytes = kHeaderBytes + 2 * (1 + kMaxKeyBytes);
static_assert((kMaxRawBytes + 2) / 3 * 4 <= kMaxCursorBytes);

constexpr unsigned kReverse = 1;
constexpr unsigned kByPrefix = 2;
constexpr unsigned kUnbounded = 4;
constexpr unsigned kInclusive = 8;
constexpr unsigned kAllFlags = 15;

/// FNV-1a of everything but the checksum itself, folded to 32 bits.
std::array<char, 4> checksum(std::string_view raw) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&hash](std::string_view bytes) {
    for (const char byte : bytes) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    }
  };
  add(raw.substr(0, 2));
  add(raw.substr(kHeaderBytes));
  hash ^= hash >> 32U;
  std::array<char, 4> bytes{};
  for (char& byte : bytes) {
    byte = static_cast<char>(static_cast<unsigned char>(hash));
    hash >>= 8U;
  }
  return bytes;
}

char* write_key(char* out, std::string_view key) noexcept {
  *out = static_cast<char>(static_cast<unsigned char>(key.size()));
  return write_text(out + 1, key);
}

/// Takes a length and as many bytes off the front of `raw`.
bool take_key(std::string_view& raw, std::string_view& key) noexcept {
  if (raw.empty()) {
    return false;
  }
  const std::size_t bytes = static_cast<unsigned char>(raw.front());
  if (bytes > kMaxKeyBytes || raw.size() - 1 < bytes) {
    return false;
  }
  key = raw.substr(1, bytes);
  raw.remove_prefix(1 + bytes);
  return true;
}

unsigned flags_of(const CursorState& state) noexcept {
  const bool no_bound = state.by_prefix || state.far.unbounded;
  return (state.reverse ? kReverse : 0U) | (state.by_prefix ? kByPrefix : 0U) | (no_bound ? kUnbounded : 0U) |
         (!no_bound && state.far.inclusive ? kInclusive : 0U);
}

/// Whether every key between the bounds begins with `prefix`.
bool bounds_share(const RangeRequest& rest, std::string_view prefix) noexcept {
  return prefix.empty() || (!rest.low.unbounded && !rest.high.unbounded && rest.low.key.starts_with(prefix) &&
                            rest.high.key.starts_with(prefix));
}

bool begins_within(const RangeRequest& rest, const RangeBound& low) noexcept {
  if (low.unbounded) {
    return true;
  }
  const RangeBound& first = rest.low;
  if (first.unbounded) {
    return rest.by_prefix && rest.prefix >= low.key && (low.inclusive || rest.prefix != low.key);
  }
  return first.key > low.key || (first.key == low.key && (low.inclusive || !first.inclusive));
}

bool ends_within(const RangeRequest& rest, const RangeBound& high) noexcept {
  if (high.unbounded) {
    return true;
  }
  const RangeBound& last = rest.high;
  if (last.unbounded) {
    return rest.by_prefix && rest.prefix < high.key && !high.key.starts_with(rest.prefix);
  }
  return last.key < high.key || (last.key == high.key && (high.inclusive || !last.inclusive));
}

}  // namespace

char* write_cursor(char* out, const CursorState& state) noexcept {
  std::array<char, kMaxRawBytes> raw;
  const unsigned flags = flags_of(state);
  raw[0] = kVersion;
  raw[1] = static_cast<char>(flags);
  char* end = write_key(raw.data() + kHeaderBytes, state.last_key);
  if (state.by_prefix) {
    end = write_key(end, state.prefix);
  } else {
    end = write_key(end, state.far.unbounded ? std::string_view() : state.far.key);
  }
  const std::string_view text(raw.data(), static_cast<std::size_t>(end - raw.data()));
  const std::array<char, 4> sum = checksum(text);
  std::memcpy(raw.data() + 2, sum.data(), sum.size());
  return write_base64(out, text);
}

bool read_cursor(std::string_view text, RangeRequest& range, char* scratch) noexcept {
  std::size_t bytes = 0;
  if (text.size() > kMaxCursorBytes || !read_base64(text, scratch, bytes) || bytes < kHeaderBytes) {
    return false;
  }
  std::string_view raw(scratch, bytes);
  const unsigned flags = static_cast<unsigned char>(raw[1]);
  const std::array<char, 4> sum = checksum(raw);
  if (raw[0] != kVersion || flags > kAllFlags ||
      raw.substr(2, sum.size()) != std::string_view(sum.data(), sum.size())) {
    return false;
  }
  raw.remove_prefix(kHeaderBytes);
  std::string_view last_key;
  std::string_view second;
  if (!take_key(raw, last_key) || !take_key(raw, second) || !raw.empty() || last_key.empty()) {
    return false;
  }
  const bool prefixed = (flags & kByPrefix) != 0;
  const bool no_bound = (flags & kUnbounded) != 0;
  // Accept only texts that write_cursor() makes: a prefix excludes a bound, and a bound has a key.
  if (prefixed ? !no_bound || !last_key.starts_with(second) : second.empty() != no_bound) {
    return false;
  }
  RangeBound far;
  if (!no_bound) {
    far = {second, false, (flags & kInclusive) != 0};
  } else if ((flags & kInclusive) != 0) {
    return false;
  }
  const RangeBound near{last_key, false, false};
  range.reverse = (flags & kReverse) != 0;
  range.by_prefix = prefixed;
  range.prefix = prefixed ? second : std::string_view();
  range.low = range.reverse ? far : near;
  range.high = range.reverse ? near : far;
  return true;
}

bool lies_within(const RangeRequest& rest, const RangeRequest& named) noexcept {
  if (named.by_prefix) {
    return rest.by_prefix ? rest.prefix.starts_with(named.prefix) : bounds_share(rest, named.prefix);
  }
  return begins_within(rest, named.low) && ends_within(rest, named.high);
}

}  // namespace mxkv::protocol
