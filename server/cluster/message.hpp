// A message of a shard's log: a header of 72 bytes, and a body. Pure bytes; all numbers are little-endian.
//
//    0 magic "MXG1" (4) | version (2) | kind (2)
//    8 shard (4) | part (4) | parts (4) | body bytes (4)
//   24 cluster (8) | term (8) | sequence in the term (8) | node (8) | epoch (8)
//   64 XXH3 of all the rest (8)
//   72 body
//
// A topic may hold messages that were written by mistake, or by an older server. So a message names its
// cluster and shard, and parse_message() distinguishes foreign messages from damaged ones.
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
  group = 2,     ///< changes of a commit epoch, or a part of them; body: record_body.hpp
  beat = 3,      ///< the owner lives; body: its lease (8 bytes), once it serves
  yield = 4,     ///< the owner leaves the shard; body: the next node (8 bytes)
  snapshot = 5,  ///< in a log of its own: items of a snapshot, see shard_snapshot.hpp
};

/// `body` refers to the parsed bytes. Thread-safety: a value.
struct Message {
  message_kind kind = message_kind::beat;
  std::uint32_t shard = 0;
  std::uint64_t cluster = 0;   ///< the map's number for the cluster
  std::uint64_t term = 0;      ///< the owner's term, from 1
  std::uint64_t sequence = 0;  ///< in the term, from 1; 0 for a claim
  std::uint64_t node = 0;      ///< the process that wrote it: a new number after each start
  std::uint64_t epoch = 0;     ///< a group's epoch; a claim's number in its process; a snapshot's number
  std::uint32_t part = 0;      ///< of a group, or of a piece of a snapshot, from 0
  std::uint32_t parts = 1;
  std::string_view body;

  friend bool operator==(const Message&, const Message&) = default;
};

/// Why bytes are no message of this shard.
enum class message_flaw : std::uint8_t {
  none,
  foreign,        ///< another magic: another program writes to this log
  version,        ///< another version of the format, as from a newer server
  damaged,        ///< length, hash or a field does not fit
  other_cluster,  ///< intact, but another cluster's
  other_shard,    ///< intact and of this cluster, but in the wrong log
};

/// The cluster and shard that a log's messages must name.
struct MessageScope {
  std::uint64_t cluster = 0;
  std::uint32_t shard = 0;
};

struct ParsedMessage {
  message_flaw flaw = message_flaw::none;
  Message message;  ///< valid if there is no flaw
};

/// Thread-safety: any thread.
[[nodiscard]] std::string write_message(const Message& message);
/// Thread-safety: any thread.
[[nodiscard]] ParsedMessage parse_message(std::string_view bytes, const MessageScope& scope) noexcept;
/// For a log line or an error. Thread-safety: any thread.
[[nodiscard]] std::string_view text_of(message_flaw flaw) noexcept;

/// The leases that a cluster may have. An older server's claim states none: then a new owner waits for the
/// longest.
inline constexpr std::uint64_t kShortestLeaseNs = 500'000'000;
inline constexpr std::uint64_t kLongestLeaseNs = 60'000'000'000;

/// The body of a claim: the node's lease (8 bytes), and then its address.
struct Claim {
  std::uint64_t lease_ns = kLongestLeaseNs;
  std::string_view address;  ///< for the other nodes
};
/// Thread-safety: any thread; also the functions below.
[[nodiscard]] std::string write_claim(const Claim& claim);
/// An older server's body is only an address.
[[nodiscard]] Claim parse_claim(std::string_view body) noexcept;

/// The body of a beat.
[[nodiscard]] std::string write_lease(std::uint64_t lease_ns);
/// Nothing: the body has no lease.
[[nodiscard]] std::optional<std::uint64_t> parse_lease(std::string_view body) noexcept;

/// The body of a yield. Thread-safety: any thread.
[[nodiscard]] std::string write_node(std::uint64_t node);
/// Nothing: the body has no node. Thread-safety: any thread.
[[nodiscard]] std::optional<std::uint64_t> parse_node(std::string_view body) noexcept;

}  // namespace mxkv::server
