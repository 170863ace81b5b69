// The protocol state machine of one connection: takes bytes, calls the store, writes replies. It has no
// sockets.
//
// A session takes requests, in order, out of the bytes that were read. Each request starts at the store as
// soon as RequestOrder allows. The session's state says what it reads next (session_state.hpp). The reasons
// why it takes no requests are a set (pauses.hpp). A paused session wants no input: bytes already read are
// held, and the rest stays in the kernel.
//
// This class is the loop that takes input, and the session's life. Its parts:
//
//   text_intake, binary_intake   lines, and packets of the binary protocol
//   value_intake, batch_intake   the value, and the batch, that are being received
//   login_dialog                 clients that have not logged in
//   launcher                     requests that start, and requests that wait for their order
//   streams                      ranges, administration, dumps, and watched events
//   watches                      watches of ranges
//   request_meter                how many requests it may take, by its allowance and its rates
//   session_core                 the state that all of them share
//
// A session that rests may continue on another worker: see server/net/connection/connection_moves.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "server/net/session/session_parts.hpp"
#include "server/net/session/text_intake.hpp"

namespace mxkv::server {

/// Thread-safety: owner worker only.
class Session {
 public:
  static constexpr std::size_t kMostOfStranger = SessionCore::kMostOfStranger;

  /// `owner` is resumed when operations that the session waits for end. `asks_login`: clients must log in if
  /// there are users.
  Session(SessionHost& host, ConnectionOwner& owner, bool asks_login = true);
  /// A client that does not log in has the rights of `visitor`. Before any input.
  void let_in_as(std::shared_ptr<const User> visitor) noexcept;
  /// Continues a session that rested on another worker. `held`: the bytes that it had read and not used.
  /// `binary`: its client speaks the binary protocol.
  Session(SessionHost& host, ConnectionOwner& owner, std::string_view held, bool binary, UserSeat seat = {});
  /// Operations in flight continue; waiting requests are dropped.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Takes bytes that were read. `headroom` bytes before `data` are free to be written, too.
  void receive(char* data, std::size_t bytes, std::size_t headroom);
  /// Where the next bytes of a value may be read to; empty: use receive().
  [[nodiscard]] std::span<char> value_space() { return parts_.values.space(parts_.core); }
  /// `bytes` were read into value_space().
  void received_value(std::size_t bytes) { parts_.values.received(parts_.core, bytes); }
  /// The client will send nothing more. Requests that came are still answered.
  void end_of_input();
  /// Continues with the held bytes: in a new turn, when output was sent, or when operations ended.
  void resume();
  /// The worker's share of memory may have the room that the session waits for.
  void give_room();
  /// The journal accepts nothing for now. The session takes no requests until journal_has_room().
  void wait_for_journal() noexcept { parts_.core.pauses.add(pause::journal); }
  void journal_has_room() { end_pause(pause::journal); }
  /// False: the login that it waits for is not judged yet.
  [[nodiscard]] bool judged();
  /// Its user's and its address's rates may have room again. False: they have none yet.
  [[nodiscard]] bool rate_has_room();
  /// Called after bytes came that the session may not have looked at yet.
  void charge_input() { parts_.meter.charge_input(parts_.core); }
  /// Sets the usage of its address, or reviews whether there are rates; null: the address is not counted.
  void meter(Usage* client) noexcept { parts_.meter.meter(parts_.core, client); }
  /// Sets where the session writes its last command; outlives the session.
  void show_last(LastCommand& where) noexcept { parts_.core.last = &where; }
  /// The users were read again. False: this session's user must leave.
  [[nodiscard]] bool user_stays() { return LoginDialog::user_stays(parts_.core, parts_.meter); }
  /// Moves its user to the session on another worker.
  [[nodiscard]] UserSeat give_seat() noexcept { return std::move(parts_.core.seat); }
  /// Whether it is between two requests, and only pauses that pass by themselves keep it from taking the
  /// next.
  [[nodiscard]] bool may_move() const noexcept {
    return parts_.core.state.between_requests() && !parts_.watches.any() &&
           !parts_.core.pauses.has(kOfRoom | pause::journal | pause::input_end | pause::rate);
  }
  /// Takes no more requests, so that it comes to rest. Only if may_move().
  void come_to_rest() noexcept {
    parts_.core.pauses.remove(kRetried);
    parts_.core.pauses.add(pause::move);
  }
  /// Continues after come_to_rest().
  void stay() { end_pause(pause::move); }
  /// Whether it has nothing under way, so that another session may continue with its held bytes.
  [[nodiscard]] bool rests() const noexcept {
    return may_move() && !parts_.core.running && owes_nothing() && unsent_bytes() == 0 &&
           !entry().awaits_disk && entry().life.answers();
  }
  /// Bytes read and not used; valid until the next call of a non-const function.
  [[nodiscard]] std::string_view held() const noexcept { return parts_.core.held.view(); }
  /// There is no memory for its unfinished input: tells the client, and takes nothing more.
  void refuse_input();
  /// Requests taken on this worker, with any outcome. Wraps around.
  [[nodiscard]] std::uint32_t requests() const noexcept { return parts_.meter.allowance().taken(); }
  /// Whether it watches ranges.
  [[nodiscard]] bool watches() const noexcept { return parts_.watches.any(); }
  /// Whether a watch has something to say that the output had no room for.
  [[nodiscard]] bool tells_more() const noexcept {
    return parts_.watches.wait_for_client() && !paused_for(pause::rate);
  }
  /// Writes what its watches have to say while the client reads. `watch`: one that has news.
  void tell(const Watch& watch) {
    parts_.watches.note(watch);
    tell();
  }
  void tell() { parts_.watches.pull(parts_.core, parts_.meter); }
  /// Called at the end of a round in which it got replies.
  void end_round() noexcept { parts_.meter.end_round(parts_.core); }

  /// What it reads next.
  [[nodiscard]] const SessionState& state() const noexcept { return parts_.core.state; }
  [[nodiscard]] Pauses pauses() const noexcept { return parts_.core.pauses; }
  [[nodiscard]] bool paused_for(pause reason) const noexcept { return parts_.core.pauses.has(reason); }
  /// Whether it could use bytes that can be read now.
  [[nodiscard]] bool wants_input() const noexcept {
    return parts_.core.state.takes_input() && parts_.core.pauses.empty();
  }
  /// Whether it will produce no more replies: once the output is sent, the connection may be closed.
  [[nodiscard]] bool finished() const noexcept {
    return !parts_.core.state.takes_input() && parts_.core.waiting == 0 && entry().replies.all_closed();
  }
  /// Whether only the journal keeps it from reading, and everything before was taken and answered. Then it
  /// holds at most the beginning of a request, and if no more input comes, it has nothing left to do.
  [[nodiscard]] bool awaits_input_alone() const noexcept {
    const bool is_idle = !parts_.core.state.takes_without_input() && owes_nothing();
    return parts_.core.pauses == pause::journal && parts_.core.state.takes_input() &&
           (is_idle || parts_.core.state.is(session_state::watch)) && unsent_bytes() == 0;
  }
  /// Whether it was ended because of an error in the client's input.
  [[nodiscard]] bool ended_in_error() const noexcept { return parts_.core.in_error; }
  /// Whether it is just taking input.
  [[nodiscard]] bool running() const noexcept { return parts_.core.running; }

  [[nodiscard]] ConnectionState& entry() const noexcept { return *parts_.core.entry; }
  [[nodiscard]] OutputBuffer& output() const noexcept { return entry().replies.output(); }
  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return parts_.core.unsent_bytes(); }
  /// Bytes held of a request that is not complete. Bytes of values are not counted.
  [[nodiscard]] std::size_t unfinished_bytes() const noexcept { return held().size() + parts_.batch.kept(); }
  /// Whether its large value came so slowly up to `now_ns` that it should make room for another one.
  [[nodiscard]] bool value_is_slow(std::uint64_t now_ns) const noexcept {
    return parts_.values.is_slow(now_ns);
  }

 private:
  // Taking input: each function returns how many bytes it used.
  void run(std::string_view data, bool held);
  std::size_t process(std::string_view data);
  [[nodiscard]] bool ready_for_input();
  std::size_t take(std::string_view rest);
  std::size_t take_opening(std::string_view data);
  void keep_rest(std::string_view rest, std::size_t used, bool held);
  void hold(const char* data, std::size_t bytes);
  void note_what_resumes() noexcept;
  /// Drops what was begun, once the session drains.
  void stop_taking() noexcept;
  /// Others have ended the reason for a pause.
  void end_pause(Pauses reasons) {
    parts_.core.pauses.remove(reasons);
    resume();
  }
  /// Whether no request waits, none is in flight, and each has its whole reply.
  [[nodiscard]] bool owes_nothing() const noexcept {
    return parts_.core.waiting == 0 && entry().order.in_flight() == 0 && entry().replies.all_closed();
  }

  SessionParts parts_;
  TextIntake text_;
};

}  // namespace mxkv::server
