// One message of a shard's log: a header of 72 bytes, and a body. Pure bytes; all numbers are little-endian.
//
//    0 magic "MXG1" (4) | version (2) | kind (2)
//    8 shard (4) | part (4) | parts (4) | body bytes (4)
//   24 cluster (8) | term (8) | sequence in the term (8) | node (8) | epoch (8)
//   64 XXH3 of all the rest (8)
//   72 body
//
// A topic may hold what others wrote by mistake, or what an older server wrote: a message says whose it is, and what
// is not ours is told apart from what is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mxkv::server {

inline constexpr std::uint32_t kMessageMagic = 0x3147584D;  // "MXG1"
inline constexpr std::uint16_t kMessageVersion = 1;
inline constexpr std::size_t kMessageHeaderBytes = 72;

enum class message_kind : std::uint16_t {
  open = 1,      ///< a claim of the shard for a new term; body: a Claim
  group = 2,     ///< changes of a commit epoch, or a part of them; body: blocks of records
  beat = 3,      ///< the owner lives; body: its lease (8 bytes), once it serves
  yield = 4,     ///< the owner leaves the shard; body: the node that it leaves it to (8 bytes)
  snapshot = 5,  ///< in a log of its own: items of a snapshot, see shard_snapshot.hpp
};

/// `body` lies in the bytes that it was parsed from. Thread-safety: a value.
struct Message {
  message_kind kind = message_kind::beat;
  std::uint32_t shard = 0;
  std::uint64_t cluster = 0;   ///< hash of the cluster's name and birth
  std::uint64_t term = 0;      ///< of which owner; the first one has 1
  std::uint64_t sequence = 0;  ///< in the term, from 1; 0 for a claim
  std::uint64_t node = 0;      ///< the process that wrote it: another one behind each start
  std::uint64_t epoch = 0;     ///< of a group; of a claim: which one of its node's; of a snapshot: its number
  std::uint32_t part = 0;      ///< of a group, or of a piece of a snapshot, from 0
  std::uint32_t parts = 1;
  std::string_view body;

  friend bool operator==(const Message&, const Message&) = default;
};

/// What is wrong with bytes that are no message of this shard.
enum class message_flaw : std::uint8_t {
  none,
  foreign,        ///< another magic: somebody else writes to this log
  version,        ///< of a newer server
  damaged,        ///< length, hash or a field does not fit
  other_cluster,  ///< whole, and another cluster's
  other_shard,    ///< whole, of this cluster, and in the wrong log
};

/// What a log's messages must say.
struct MessageScope {
  std::uint64_t cluster = 0;
  std::uint32_t shard = 0;
};

struct ParsedMessage {
  message_flaw flaw = message_flaw::none;
  Message message;  ///< if there is no flaw
};

/// Thread-safety: any thread.
[[nodiscard]] std::string write_message(const Message& message);
/// Thread-safety: any thread.
[[nodiscard]] ParsedMessage parse_message(std::string_view bytes, const MessageScope& scope) noexcept;
/// For a log or an error. Thread-safety: any thread.
[[nodiscard]] std::string_view text_of(message_flaw flaw) noexcept;

/// Leases that a cluster may have. A log of an older server tells none: the longest one is waited for then.
inline constexpr std::uint64_t kShortestLeaseNs = 500'000'000;
inline constexpr std::uint64_t kLongestLeaseNs = 60'000'000'000;

/// The body of a claim: the node's lease (8 bytes), and the rest is its address.
struct Claim {
  std::uint64_t lease_ns = kLongestLeaseNs;
  std::string_view address;  ///< that the other nodes use
};
/// Thread-safety: any thread, and so the next ones.
[[nodiscard]] std::string write_claim(const Claim& claim);
/// An older server's body is an address alone.
[[nodiscard]] Claim parse_claim(std::string_view body) noexcept;

/// The body of a beat.
[[nodiscard]] std::string write_lease(std::uint64_t lease_ns);
/// Nothing: the body tells no lease.
[[nodiscard]] std::optional<std::uint64_t> parse_lease(std::string_view body) noexcept;

/// The body of a yield. Thread-safety: any thread.
[[nodiscard]] std::string write_node(std::uint64_t node);
/// Nothing: that is no node. Thread-safety: any thread.
[[nodiscard]] std::optional<std::uint64_t> parse_node(std::string_view body) noexcept;

}  // namespace mxkv::server
