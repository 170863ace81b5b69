// State that the sessions of one worker share: the store, limits, shares of memory, scratch.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "protocol/get_lines.hpp"
#include "protocol/parser.hpp"
#include "protocol/set_lines.hpp"
#include "server/net/observe/request_sampler.hpp"
#include "server/net/session/admin_source.hpp"
#include "server/net/session/admission.hpp"
#include "server/net/session/waiting_requests.hpp"
#include "server/net/users/credentials.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/item/item_builder.hpp"
#include "server/store/session_store.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

class Herald;

/// Frees memory for unfinished input. Thread-safety: owner worker only.
class InputRelief {
 public:
  InputRelief() = default;
  InputRelief(const InputRelief&) = delete;
  InputRelief& operator=(const InputRelief&) = delete;

  /// Ends the session that holds the most input, of those that hold more than `asking`; `stalled`: and whose
  /// clients send nothing. Returns whether it did.
  [[nodiscard]] virtual bool relieve(ConnectionState& asking, bool stalled) = 0;

 protected:
  ~InputRelief() = default;
};

/// Most gets that are started together, and most sets that are parsed together.
inline constexpr std::size_t kMostGets = 128;
inline constexpr std::size_t kMostSets = 64;

/// Shared by the sessions of one worker. `turn` counts the worker's rounds.
struct SessionHost {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr int kNobody = -1;

  runtime::Worker& worker;
  SessionStore& store;
  ConnectionTable& directory;
  BlockPool& input;
  const config::LimitOptions& limits;
  std::string_view version_line;
  AdminSource* admin = nullptr;
  Credentials* credentials = nullptr;            ///< null, or none required: clients need no login
  WatchHub* watch_hub = nullptr;                 ///< null: nothing can be watched
  Herald* herald = nullptr;                      ///< null: no range can be watched
  Happenings* happenings = nullptr;              ///< null: happenings are not announced
  LoginBell* login_bell = nullptr;               ///< null: every login is judged at once
  InputRelief* relief = nullptr;                 ///< null: no session is ended for another one
  std::vector<ConnectionState*> watching{};      ///< sessions that watch
  std::deque<ConnectionState*> starved{};        ///< sessions that wait for page room
  std::uint64_t page_pauses = 0;                 ///< how often a session had to wait for it
  std::vector<ConnectionState*> logging_in{};    ///< sessions whose login is being judged
  std::vector<ConnectionState*> rate_waiters{};  ///< sessions that used up their rate
  std::uint64_t rate_at_ns = kNever;             ///< when one of them may have room
  std::uint64_t rate_pauses = 0;                 ///< how often a session had to wait
  RequestSampler sampler{};
  WaitingPool<ItemBuilder> waiting{};
  std::uint64_t turn = 0;
  protocol::Parser parser = parser_for(limits);
  protocol::Request request{};         ///< scratch: large, and only partly filled by most commands
  protocol::Request binary_request{};  ///< the same for the binary protocol
  std::array<protocol::AskedKey, kMostGets> gets{};   ///< scratch: keys started together
  std::array<protocol::SentValue, kMostSets> sets{};  ///< scratch, too
  Admission values{};                                 ///< large values that are being received
  Admission small_values{};                           ///< those up to kSmallValueBytes: a room of their own
  Admission handshakes{};                             ///< TLS handshakes under way

  /// Whether a session that holds `own` bytes may hold so many more of unfinished input. If there is no room,
  /// a session that holds more is ended first; `stalled`: only one that stalls. If the others hold little, one
  /// session may exceed the share. So may sessions that hold the beginning of a usual line.
  [[nodiscard]] bool has_input_room(std::size_t bytes, std::size_t own, ConnectionState& asking,
                                    bool stalled = false) {
    const MemoryShare& share = input.share();
    const std::size_t most =
        own + bytes <= BlockPool::kSmallBlockBytes ? kSmallShares * share.bytes() : share.bytes();
    while (bytes > 0 && share.held() + bytes > most) {
      if (relief == nullptr || !relief->relieve(asking, stalled)) {
        return share.held() <= own + share.bytes() / 8 && own + bytes <= most_of_one();
      }
    }
    return true;
  }
  /// Most bytes of one session's input: a line of get may be that long, and is held twice while it grows.
  [[nodiscard]] std::size_t most_of_one() noexcept {
    const std::size_t share = input.share().bytes();
    return std::clamp(2 * limits.get_line_bytes, kSmallShares * share, kShareOfLongLine * share);
  }
  static constexpr std::size_t kSmallShares = 4;
  static constexpr std::size_t kShareOfLongLine = 16;
  /// Bytes that all large values under way may have together.
  [[nodiscard]] std::uint64_t value_room() const noexcept { return kValueShares * input.share().bytes(); }
  static constexpr std::size_t kValueShares = 4;
  static constexpr std::uint64_t kSmallValueBytes = std::uint64_t{128} << 10U;
  /// The same for the room of small ones: larger ones, which may take long to arrive, do not keep them out.
  [[nodiscard]] std::uint64_t small_value_room() const noexcept { return input.share().bytes(); }
  /// The room that admits a value of so many bytes; null: it has to wait in queue_for_value().
  [[nodiscard]] Admission* room_for_value(std::uint64_t bytes) noexcept {
    if (bytes <= kSmallValueBytes && small_values.admits(bytes, small_value_room())) {
      return &small_values;
    }
    return values.admits(bytes, value_room()) ? &values : nullptr;
  }
  [[nodiscard]] Admission& queue_for_value(std::uint64_t bytes) noexcept {
    return bytes <= kSmallValueBytes ? small_values : values;
  }
  /// The same for handshakes.
  [[nodiscard]] std::uint64_t handshake_room() const noexcept {
    return kHandshakeShares * input.share().bytes();
  }
  static constexpr std::size_t kHandshakeShares = 4;
  /// Most bytes of a page of a range, so that several pages fit into the share.
  [[nodiscard]] std::size_t page_bytes() noexcept {
    return std::min<std::size_t>(limits.scan_bytes, directory.share().bytes() / 4);
  }
  /// Whether the share has room for one more page.
  [[nodiscard]] bool has_page_room() noexcept {
    const MemoryShare& share = directory.share();
    return share.used() + (directory.ranges_in_flight() + 1) * page_bytes() <= share.bytes() / 4 * 3;
  }

  /// `limits` changed.
  void take_limits() noexcept { parser = parser_for(limits); }
  static protocol::Parser parser_for(const config::LimitOptions& limits) noexcept {
    return protocol::Parser{
        protocol::ParserLimits{.value_bytes = limits.value_bytes, .get_line_bytes = limits.get_line_bytes}};
  }
};

}  // namespace mxkv::server
