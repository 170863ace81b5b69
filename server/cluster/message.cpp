#include "server/cluster/message.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "runtime/base/assert.hpp"
#include "server/journal/format.hpp"
#include "server/journal/hash.hpp"

namespace mxkv::server {
namespace {

constexpr std::size_t kHashAt = 64;

std::uint64_t message_hash(std::string_view bytes) noexcept {
  Hasher hasher{kMessageMagic};
  hasher.add(bytes.substr(0, kHashAt));
  hasher.add(bytes.substr(kMessageHeaderBytes));
  return hasher.value();
}

bool is_known(message_kind kind) noexcept {
  switch (kind) {
    case message_kind::open:
    case message_kind::group:
    case message_kind::beat:
    case message_kind::yield:
    case message_kind::snapshot:
      return true;
  }
  return false;
}

/// Checks a complete message: its fields must fit together.
bool is_sound(const Message& message) noexcept {
  const bool claim = message.kind == message_kind::open;
  const bool part_of_more = message.parts != 1;
  return is_known(message.kind) && message.term > 0 && message.node != 0 &&
         claim == (message.sequence == 0) && message.part < message.parts &&
         (!part_of_more || message.kind == message_kind::group || message.kind == message_kind::snapshot) &&
         (message.kind != message_kind::yield || parse_node(message.body).value_or(0) != 0);
}

}  // namespace

std::string write_message(const Message& message) {
  MXKV_ASSERT(message.body.size() <= std::numeric_limits<std::uint32_t>::max(), "a length has 32 bits");
  std::string bytes(kMessageHeaderBytes + message.body.size(), '\0');
  char* at = bytes.data();
  at = store_number(at, kMessageMagic);
  at = store_number(at, kMessageVersion);
  at = store_number(at, static_cast<std::uint16_t>(message.kind));
  at = store_number(at, message.shard);
  at = store_number(at, message.part);
  at = store_number(at, message.parts);
  at = store_number(at, static_cast<std::uint32_t>(message.body.size()));
  at = store_number(at, message.cluster);
  at = store_number(at, message.term);
  at = store_number(at, message.sequence);
  at = store_number(at, message.node);
  at = store_number(at, message.epoch);
  MXKV_ASSERT(at == bytes.data() + kHashAt, "the hash stands behind all other fields");
  std::ranges::copy(message.body, at + sizeof(std::uint64_t));
  store_number(at, message_hash(bytes));
  return bytes;
}

ParsedMessage parse_message(std::string_view bytes, const MessageScope& scope) noexcept {
  const auto flawed = [](message_flaw flaw) { return ParsedMessage{.flaw = flaw, .message = {}}; };
  const char* const at = bytes.data();
  if (bytes.size() < sizeof kMessageMagic || load_number<std::uint32_t>(at) != kMessageMagic) {
    return flawed(message_flaw::foreign);
  }
  if (bytes.size() < kMessageHeaderBytes) {
    return flawed(message_flaw::damaged);
  }
  // The rest of a newer version's layout, its hash included, is unknown here.
  if (load_number<std::uint16_t>(at + 4) != kMessageVersion) {
    return flawed(message_flaw::version);
  }
  if (load_number<std::uint32_t>(at + 20) != bytes.size() - kMessageHeaderBytes ||
      load_number<std::uint64_t>(at + kHashAt) != message_hash(bytes)) {
    return flawed(message_flaw::damaged);
  }
  ParsedMessage parsed{.flaw = message_flaw::none,
                       .message = {.kind = static_cast<message_kind>(load_number<std::uint16_t>(at + 6)),
                                   .shard = load_number<std::uint32_t>(at + 8),
                                   .cluster = load_number<std::uint64_t>(at + 24),
                                   .term = load_number<std::uint64_t>(at + 32),
                                   .sequence = load_number<std::uint64_t>(at + 40),
                                   .node = load_number<std::uint64_t>(at + 48),
                                   .epoch = load_number<std::uint64_t>(at + 56),
                                   .part = load_number<std::uint32_t>(at + 12),
                                   .parts = load_number<std::uint32_t>(at + 16),
                                   .body = bytes.substr(kMessageHeaderBytes)}};
  if (parsed.message.cluster != scope.cluster) {
    return flawed(message_flaw::other_cluster);
  }
  if (parsed.message.shard != scope.shard) {
    return flawed(message_flaw::other_shard);
  }
  return is_sound(parsed.message) ? parsed : flawed(message_flaw::damaged);
}

std::string_view text_of(message_flaw flaw) noexcept {
  switch (flaw) {
    case message_flaw::none:
      return "fine";
    case message_flaw::foreign:
      return "not a message of mxkvd";
    case message_flaw::version:
      return "of a newer version of mxkvd";
    case message_flaw::damaged:
      return "damaged";
    case message_flaw::other_cluster:
      return "another cluster's";
    case message_flaw::other_shard:
      return "another shard's";
  }
  return "?";
}

std::string write_claim(const Claim& claim) {
  return write_lease(claim.lease_ns).append(claim.address);
}

// No address begins with the bytes of a lease, because three of them are 0.
Claim parse_claim(std::string_view body) noexcept {
  const std::string_view number = body.substr(0, sizeof(std::uint64_t));
  if (const std::optional<std::uint64_t> lease_ns = parse_lease(number)) {
    return {.lease_ns = *lease_ns, .address = body.substr(number.size())};
  }
  return {.address = body};
}

std::string write_lease(std::uint64_t lease_ns) {
  return write_node(lease_ns);
}

std::optional<std::uint64_t> parse_lease(std::string_view body) noexcept {
  const std::optional<std::uint64_t> lease_ns = parse_node(body);
  return lease_ns && *lease_ns >= kShortestLeaseNs && *lease_ns <= kLongestLeaseNs ? lease_ns : std::nullopt;
}

std::string write_node(std::uint64_t node) {
  std::array<char, sizeof node> bytes{};
  store_number(bytes.data(), node);
  return {bytes.data(), bytes.size()};
}

std::optional<std::uint64_t> parse_node(std::string_view body) noexcept {
  if (body.size() != sizeof(std::uint64_t)) {
    return std::nullopt;
  }
  const char* const at = body.data();
  return load_number<std::uint64_t>(at);
}

}  // namespace mxkv::server
