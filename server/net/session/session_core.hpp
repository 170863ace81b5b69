// The state that all parts of a session share: its connection's entry, what it reads next, why it takes no
// requests, its user, and the bytes that it holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/parser.hpp"
#include "protocol/reply_codes.hpp"
#include "protocol/request.hpp"
#include "server/net/observe/last_command.hpp"
#include "server/net/session/input_buffer.hpp"
#include "server/net/session/pauses.hpp"
#include "server/net/session/request_allowance.hpp"
#include "server/net/session/session_host.hpp"
#include "server/net/session/session_state.hpp"
#include "server/net/users/users.hpp"
#include "server/reply/connection_table.hpp"

namespace mxkv::server {

/// The parts of a session keep no pointers to each other: each call passes this, and the parts that it needs.
/// Thread-safety: owner worker only.
struct SessionCore {
  SessionCore(SessionHost& host_, ConnectionOwner& owner)
      : host(&host_), entry(&host_.directory.open(owner)), held(host_.input) {}

  static constexpr std::size_t kMostOfStranger = 4096;  ///< bytes of a line before login

  SessionHost* host;
  ConnectionState* entry;
  protocol::LineState line;  ///< how far the beginning of the held line was searched for its end
  InputBuffer held;          ///< bytes that were read and not used
  SessionState state;
  Pauses pauses;
  bool running = false;     ///< it is just taking input
  bool in_error = false;    ///< it was ended because of an error in the client's input
  bool limited = false;     ///< its user may not do everything
  bool usual_gets = true;   ///< usual get lines may be taken without looking at their keys
  bool usual_sets = true;   ///< the same for sets
  std::size_t waiting = 0;  ///< requests that wait for their order
  LastCommand* last = &unseen;
  LastCommand unseen{};                           ///< used while nobody is shown the last command
  std::uint32_t again = ReplyAddress::kNoTicket;  ///< the ticket of a request that is taken again
  protocol::BinaryForm binary_form;               ///< of the value, or of the login, in the binary protocol
  UserSeat seat;

  /// The user that logged in; null: none was required.
  [[nodiscard]] const User* user() const noexcept { return seat.user(); }
  void take_seat(UserSeat taken) noexcept;
  [[nodiscard]] RequestAllowance::Load load() const noexcept { return {entry->order.in_flight(), waiting}; }
  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return entry->replies.unsent_bytes(); }

  [[nodiscard]] ReplyAddress address(OrderClaim claim, std::uint32_t ticket) const noexcept {
    ReplyAddress result = host->directory.address(*entry);
    result.ticket = ticket;
    result.claim = claim.stored();
    return result;
  }
  [[nodiscard]] std::uint32_t ticket_for(bool noreply) noexcept {
    return noreply ? ReplyAddress::kNoTicket : entry->replies.open();
  }
  void answer(std::string_view text);
  /// Ends the reply of a ticket that was left open over rounds; by then the replies may have been dropped.
  void finish(std::uint32_t ticket, std::string_view text = {});
  /// In whatever protocol the client speaks.
  void answer_code(protocol::reply_code code);

  /// Times the request if it belongs to the sample.
  void sample(const protocol::Request& request);
  /// The request has to wait and will be taken again: it is counted once, and its time continues.
  void take_again() noexcept { again = entry->replies.next_ticket(); }
  void note_last(protocol::verb op) noexcept { last->store(op, std::memory_order_relaxed); }
  /// Writes an event to the log; the subject's client is this one.
  void note(happening what, Subject subject = {}) const;
  /// Counts and notes a request that the user may not make.
  void count_forbidden(const protocol::Request& request) const;

  /// Nothing more is taken. What was begun is dropped at the end of the session's run.
  void drain() noexcept { state.drain(); }
  /// Drains because of an error in the client's input.
  void drain_in_error() noexcept {
    in_error = true;
    drain();
  }
  /// There is no memory for the unfinished input: tells the client, and takes nothing more.
  void refuse_input();
  /// A page of a range needs room in the worker's share.
  void wait_for_page();
};

}  // namespace mxkv::server
