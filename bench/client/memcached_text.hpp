// Answers of the classic protocol, and those that meta commands have in common with it.
#pragma once

#include <string_view>

#include "bench/client/text.hpp"
#include "bench/client/wire.hpp"

namespace mxkv::bench {

inline constexpr std::string_view kValue = "VALUE ";
inline constexpr std::string_view kEnd = "END\r\n";

/// A line that is none of the expected replies: an error of the server, or nonsense.
inline Step read_refusal(std::string_view input) noexcept {
  const auto line = first_line(input);
  if (!line) {
    return {};
  }
  const bool refused =
      *line == "ERROR" || line->starts_with("SERVER_ERROR") || line->starts_with("CLIENT_ERROR");
  return {input.find('\n') + 1, refused || *line == "NOT_STORED" ? Outcome::error : Outcome::out_of_step};
}

/// One "VALUE <key> <flags> <bytes>" item, with a unique number behind it for gets, at the front of the input.
struct Item {
  enum class Status : std::uint8_t { incomplete, malformed, complete } status = Status::incomplete;
  std::string_view key;
  std::string_view data;
  std::size_t bytes = 0;  // of the whole item
};

inline Item read_item(std::string_view input) noexcept {
  const auto line = first_line(input);
  if (!line) {
    return {};
  }
  const std::string_view fields = line->substr(kValue.size());
  const std::size_t key_end = fields.find(' ');
  const std::size_t flags_end = key_end == std::string_view::npos ? key_end : fields.find(' ', key_end + 1);
  if (flags_end == std::string_view::npos) {
    return {Item::Status::malformed, {}, {}, 0};
  }
  const auto bytes =
      parse_number(fields.substr(flags_end + 1, fields.find(' ', flags_end + 1) - flags_end - 1));
  if (!bytes) {
    return {Item::Status::malformed, {}, {}, 0};
  }
  const std::size_t data_at = line->size() + kLineEnd.size();
  const std::size_t whole = data_at + *bytes + kLineEnd.size();
  if (input.size() < whole) {
    return {};
  }
  if (input.substr(data_at + *bytes, kLineEnd.size()) != kLineEnd) {
    return {Item::Status::malformed, {}, {}, 0};
  }
  return {Item::Status::complete, fields.substr(0, key_end), input.substr(data_at, *bytes), whole};
}

/// An item with the END behind it: the whole reply to a get of one key.
inline Item read_only_item(std::string_view input) noexcept {
  Item item = read_item(input);
  if (item.status == Item::Status::complete) {
    const std::string_view rest = input.substr(item.bytes);
    if (!rest.starts_with(kEnd)) {
      item.status = kEnd.starts_with(rest) ? Item::Status::incomplete : Item::Status::malformed;
    }
    item.bytes += kEnd.size();
  }
  return item;
}

/// The step for an item that is not complete.
inline Step unread(const Item& item) noexcept {
  return item.status == Item::Status::malformed ? Step{0, Outcome::out_of_step} : Step{};
}

}  // namespace mxkv::bench
