// The watches of one connection: mw, mu, and what the herald hands over (server/feed/herald.hpp).
//
// A section opens an ordinary ticket at the end of the replies, and closes it at once. So it never cuts a reply, and it
// stands behind the replies of the requests that came before it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "protocol/request.hpp"
#include "server/feed/watch.hpp"
#include "server/net/session/request_meter.hpp"
#include "server/net/session/session_core.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class Watches {
 public:
  static constexpr std::size_t kMost = 64;

  /// mw
  void begin(SessionCore& core, const protocol::Request& request);
  /// mu. False: it has to wait, so that the session takes nothing more.
  [[nodiscard]] bool change(SessionCore& core, const protocol::Request& request);

  [[nodiscard]] bool any() const noexcept { return !seats_.empty(); }
  /// Whether there are tidings that the client has no room for yet.
  [[nodiscard]] bool wait_for_client() const noexcept { return waiting_ != 0; }
  /// A watch of this connection has tidings.
  void note(const Watch& watch) noexcept;
  /// Writes tidings while the client reads and its rates allow it.
  void pull(SessionCore& core, RequestMeter& meter);
  /// The server ends: tells each watch from where to go on.
  void say_end(SessionCore& core);
  /// Leaves all watches, since the session takes nothing more.
  void leave(SessionCore& core) noexcept;
  /// The same without a word to the client. Needed before destruction.
  void abandon(SessionCore& core) noexcept;

 private:
  struct Seat {
    WatchRef watch{};
    std::uint32_t answer = 0;  ///< the ticket of mw's answer
    bool begun = false;
    bool has_tidings = false;
    Position told{};  ///< all changes up to it have been written
  };

  [[nodiscard]] std::vector<Seat>::iterator find(std::string_view name) noexcept;
  [[nodiscard]] std::size_t next_to_write(SessionCore& core, RequestMeter& meter) const;
  void write(SessionCore& core, Seat& seat, const Tiding& tiding);
  void drop(SessionCore& core, std::vector<Seat>::iterator seat) noexcept;

  std::vector<Seat> seats_;
  std::size_t waiting_ = 0;  ///< seats that have tidings
  std::size_t next_ = 0;     ///< the seat whose turn comes next
};

}  // namespace mxkv::server
