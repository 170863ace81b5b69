// One connection to another node of the cluster: sends requests in order and takes the replies in the same
// order.
//
// It connects when there is something to send, and again, after growing pauses, when that failed. It never
// sends a request twice: when the connection breaks, it gives the unanswered requests back to its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/cluster/reply_frame.hpp"
#include "server/cluster/request_forwarder.hpp"
#include "server/net/peers/peer_address.hpp"
#include "server/net/peers/peer_socket.hpp"
#include "server/net/sockets/socket_events.hpp"

namespace mxkv::server {

class PeerLink;
class TlsDoor;

/// The owner of peer links. Thread-safety: owner worker only.
class PeerLinkOwner {
 public:
  PeerLinkOwner() = default;
  PeerLinkOwner(const PeerLinkOwner&) = delete;
  PeerLinkOwner& operator=(const PeerLinkOwner&) = delete;

  /// A request was answered.
  virtual void answered(std::unique_ptr<ForwardedRequest> request, std::string_view reply) = 0;
  /// A request will not be answered. `sent`: at least a part of it was sent, so it may have been executed.
  virtual void lost(std::unique_ptr<ForwardedRequest> request, bool sent) = 0;
  /// TLS failed with the node at `address`; `why` is the complaint of either side.
  virtual void complained(const std::string& address, const std::string& why) = 0;

 protected:
  ~PeerLinkOwner() = default;
};

struct PeerLinkRules {
  std::uint64_t connect_ns = 1'000'000'000;  ///< for connecting, and for the handshake
  std::uint64_t answer_ns = 10'000'000'000;  ///< without a byte while replies are owed
  const TlsDoor* tls = nullptr;              ///< certificates for both sides; null: nodes speak no TLS
};

/// Thread-safety: owner worker only.
class PeerLink {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  PeerLink(PeerLinkOwner& owner, SocketEvents<PeerLink>& events, ForwardCounters& counters,
           const PeerLinkRules& rules, std::string address);
  ~PeerLink() = default;
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  /// Whether it takes requests. It does not during its pause before it connects again.
  [[nodiscard]] bool usable(std::uint64_t now_ns) const noexcept {
    return state_ != state::down || now_ns >= again_ns_;
  }
  /// When it will take requests, if it does not now.
  [[nodiscard]] std::uint64_t usable_ns() const noexcept { return again_ns_; }
  /// Queues a request for flush().
  void send(std::unique_ptr<ForwardedRequest> request, std::uint64_t now_ns);
  /// Sends the queued bytes, as far as the socket takes them; connects first. Returns whether it sent any or
  /// failed.
  bool flush(std::uint64_t now_ns);
  /// Its socket had an event: read() must follow.
  void became_ready(Readiness now) noexcept;
  /// Takes the bytes that came, and calls the owner with each reply.
  void read(std::uint64_t now_ns);
  /// Gives up a connect, a handshake or a reply that takes too long.
  void check(std::uint64_t now_ns);
  /// When check() has something to do.
  [[nodiscard]] std::uint64_t next_ns() const noexcept;

  [[nodiscard]] bool busy() const noexcept { return !in_flight_.empty(); }
  [[nodiscard]] bool ready() const noexcept { return readable_ || writable_; }
  /// Memory of a reply that has not come whole.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return input_.size(); }

 private:
  enum class state : std::uint8_t { down, resolving, connecting, greeting, up };
  struct InFlight {
    std::unique_ptr<ForwardedRequest> request;
    std::uint64_t begins_at;  ///< position in all bytes ever sent
  };

  void begin_connecting(std::uint64_t now_ns);
  void look_up(std::uint64_t now_ns);
  void connect(const PeerAddress& to, std::uint64_t now_ns);
  void connected(std::uint64_t now_ns);
  void shake_hands(std::uint64_t now_ns);
  void await_output();
  [[nodiscard]] bool refuses(std::string_view bytes);
  bool send_some(std::uint64_t now_ns);
  [[nodiscard]] bool take(std::string_view bytes);
  [[nodiscard]] std::size_t take_replies(std::string_view bytes);
  /// `refused`: the server reads nothing, so no request was executed.
  void fail(std::uint64_t now_ns, bool refused = false);

  PeerLinkOwner& owner_;
  SocketEvents<PeerLink>& events_;
  ForwardCounters& counters_;
  const PeerLinkRules& rules_;
  std::string address_;
  state state_ = state::down;
  bool readable_ = false;
  bool read_on_ = false;
  bool writable_ = false;
  bool output_waits_ = false;
  bool failed_ = false;  ///< the bytes that came are no reply
  bool fresh_ = false;   ///< no byte came on this connection yet
  PeerSocket socket_;
  std::future<std::optional<PeerAddress>> lookup_;
  std::uint64_t look_again_ns_ = 0;  ///< when to check the lookup of its name
  std::uint64_t since_ns_ = 0;       ///< since when it connects, or the last byte came
  std::uint64_t again_ns_ = 0;
  std::uint64_t pause_ns_ = 0;
  std::deque<InFlight> in_flight_;
  std::string output_;
  std::size_t output_sent_ = 0;      ///< bytes of output_ that are sent
  std::uint64_t output_begins_ = 0;  ///< where output_ begins, in all bytes ever sent
  std::string input_;
  ReplyFrame frame_;
};

}  // namespace mxkv::server
