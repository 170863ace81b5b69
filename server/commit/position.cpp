#include "server/commit/position.hpp"

#include <algorithm>
#include <charconv>
#include <random>

#include "protocol/reply.hpp"
#include "protocol/request.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {
namespace {

constexpr std::size_t kTagDigits = 16;
constexpr int kHex = 16;
constexpr int kDecimal = 10;

constexpr std::size_t base64_bytes(std::size_t bytes) noexcept {
  return (bytes + 2) / 3 * 4;
}

std::optional<std::uint64_t> number_of(std::string_view text, int base) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional{number} : std::nullopt;
}

std::optional<std::string> key_of(std::string_view text) {
  if (text.empty() || text.size() > base64_bytes(protocol::kMaxKeyBytes)) {
    return std::nullopt;
  }
  std::string key(text.size(), '\0');
  std::size_t bytes = 0;
  if (!protocol::read_base64(text, key.data(), bytes) || bytes == 0 || bytes > protocol::kMaxKeyBytes) {
    return std::nullopt;
  }
  key.resize(bytes);
  return key;
}

}  // namespace

std::string tag_text(std::uint64_t tag) {
  std::string text(kTagDigits, '0');
  for (std::size_t digit = kTagDigits; digit-- > 0; tag >>= 4U) {
    text[digit] = "0123456789abcdef"[tag & 15U];
  }
  return text;
}

std::optional<std::uint64_t> read_tag(std::string_view text) noexcept {
  const bool lower = std::ranges::none_of(text, [](char c) { return c >= 'A' && c <= 'F'; });
  if (text.size() != kTagDigits || !lower) {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> tag = number_of(text, kHex);
  return tag && *tag != 0 ? tag : std::nullopt;
}

std::uint64_t draw_tag(const Lineage& lineage) {
  std::random_device random;
  std::uint64_t tag = 0;
  while (tag == 0 || lineage.knows(tag)) {
    tag = std::uint64_t{random()} << 32U | random();
  }
  return tag;
}

std::string position_text(const Position& position) {
  std::string text = tag_text(position.tag) + "." + std::to_string(position.epoch);
  if (!position.key.empty()) {
    const std::size_t before = text.size() + 1;
    text.append(".").resize(before + base64_bytes(position.key.size()));
    protocol::write_base64(text.data() + before, position.key);
  }
  return text;
}

std::optional<Position> read_position(std::string_view text) {
  const std::optional<std::uint64_t> tag = read_tag(text.substr(0, kTagDigits));
  if (!tag || text.size() <= kTagDigits || text[kTagDigits] != '.') {
    return std::nullopt;
  }
  text.remove_prefix(kTagDigits + 1);
  const std::string_view digits = text.substr(0, text.find('.'));
  const std::optional<std::uint64_t> epoch = number_of(digits, kDecimal);
  if (!epoch || (digits.front() == '0' && digits.size() > 1)) {
    return std::nullopt;
  }
  Position position{.tag = *tag, .epoch = *epoch};
  if (digits.size() < text.size()) {
    std::optional<std::string> key = key_of(text.substr(digits.size() + 1));
    if (!key) {
      return std::nullopt;
    }
    position.key = *std::move(key);
  }
  return position;
}

void Lineage::begin(std::uint64_t tag, std::uint64_t first) {
  MXKV_ASSERT(tag != 0 && first != 0 && !knows(tag), "each process has a tag of its own");
  std::erase_if(entries_, [first](const Entry& entry) { return entry.first > first; });
  if (entries_.size() == kMost) {
    entries_.erase(entries_.begin());
  }
  entries_.push_back({.tag = tag, .first = first});
}

bool Lineage::knows(std::uint64_t tag) const noexcept {
  return std::ranges::find(entries_, tag, &Entry::tag) != entries_.end();
}

position_state Lineage::judge(std::uint64_t tag, std::uint64_t epoch, const ToldEpochs& told) const noexcept {
  const auto entry = std::ranges::find(entries_, tag, &Entry::tag);
  if (entry == entries_.end()) {
    return position_state::lost;
  }
  const std::uint64_t last = entry + 1 != entries_.end() ? (entry + 1)->first - 1 : told.last;
  if (epoch > last) {
    return position_state::lost;
  }
  return epoch < told.oldest ? position_state::old : position_state::ok;
}

}  // namespace mxkv::server
