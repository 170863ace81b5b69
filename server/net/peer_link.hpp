// One connection to another node of the cluster: requests go out in a row, replies come back in the same.
//
// It connects when there is something to send, and again, with growing pauses, when that failed. Nothing here is
// ever sent twice: what was on its way when a connection broke goes back to who gave it.
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
#include "server/net/peer_address.hpp"
#include "server/net/peer_socket.hpp"
#include "server/net/socket_events.hpp"

namespace mxkv::server {

class PeerLink;
class TlsDoor;

/// Whose links they are. Thread-safety: owner worker only.
class PeerLinkOwner {
 public:
  PeerLinkOwner() = default;
  PeerLinkOwner(const PeerLinkOwner&) = delete;
  PeerLinkOwner& operator=(const PeerLinkOwner&) = delete;

  /// A request was answered.
  virtual void answered(std::unique_ptr<ForwardedRequest> request, std::string_view reply) = 0;
  /// A request was not, and will not be. `sent`: some of it, so that it may have been done.
  virtual void lost(std::unique_ptr<ForwardedRequest> request, bool sent) = 0;
  /// What TLS found wrong with the node at `address`, or it with this one.
  virtual void complained(const std::string& address, const std::string& why) = 0;

 protected:
  ~PeerLinkOwner() = default;
};

struct PeerLinkRules {
  std::uint64_t connect_ns = 1'000'000'000;  ///< and to shake hands
  std::uint64_t answer_ns = 10'000'000'000;  ///< without a byte, where some are owed
  const TlsDoor* tls = nullptr;              ///< what nodes show each other; null: they speak no TLS
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

  /// Whether it takes requests: not while it pauses before it connects again.
  [[nodiscard]] bool usable(std::uint64_t now_ns) const noexcept {
    return state_ != state::down || now_ns >= again_ns_;
  }
  /// When it will be, if it is not.
  [[nodiscard]] std::uint64_t usable_ns() const noexcept { return again_ns_; }
  /// Goes out with flush().
  void send(std::unique_ptr<ForwardedRequest> request, std::uint64_t now_ns);
  /// Sends what is there, as far as the socket takes it; connects first. Returns whether anything happened.
  bool flush(std::uint64_t now_ns);
  /// Its socket was told of: read() has to follow.
  void became_ready(Readiness now) noexcept;
  /// Takes what has come; the owner is told of each reply.
  void read(std::uint64_t now_ns);
  /// Gives up what took too long.
  void check(std::uint64_t now_ns);
  /// When check() has something to do.
  [[nodiscard]] std::uint64_t next_ns() const noexcept;

  [[nodiscard]] bool busy() const noexcept { return !in_flight_.empty(); }
  [[nodiscard]] bool ready() const noexcept { return readable_ || writable_; }
  /// Memory of what came and is not a whole reply yet.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return input_.size(); }

 private:
  enum class state : std::uint8_t { down, resolving, connecting, greeting, up };
  struct InFlight {
    std::unique_ptr<ForwardedRequest> request;
    std::uint64_t begins_at;  ///< in all bytes that were ever sent
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
  /// `refused`: by a server that reads nothing.
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
  bool failed_ = false;  ///< what came was no reply
  bool fresh_ = false;   ///< nothing came yet
  PeerSocket socket_;
  std::future<std::optional<PeerAddress>> lookup_;
  std::uint64_t look_again_ns_ = 0;  ///< whether its name was found
  std::uint64_t since_ns_ = 0;       ///< it connects, or nothing came that is owed
  std::uint64_t again_ns_ = 0;
  std::uint64_t pause_ns_ = 0;
  std::deque<InFlight> in_flight_;
  std::string output_;
  std::size_t output_sent_ = 0;      ///< of output_
  std::uint64_t output_begins_ = 0;  ///< of all bytes ever, where output_ begins
  std::string input_;
  ReplyFrame frame_;
};

}  // namespace mxkv::server
