// The protocol state machine of one connection: takes bytes, calls the store, writes replies. It has no
// sockets.
//
// A session takes requests, in order, out of the bytes that were read. Each request starts at the store as
// soon as RequestOrder allows. The session's state says what it reads next (session_state.hpp). The reasons
// why it takes no requests are a set (pauses.hpp). A paused session wants no input: bytes already read are
// held, and the rest stays in the kernel.
//
// Its functions are divided by what they do:
//   session.cpp           life, and the loop that takes input
//   session_lines.cpp     lines
//   session_gets.cpp      gets and sets, many at once, and lines of many keys
//   session_requests.cpp  requests, and the store's call for each
//   session_order.cpp     requests that start, and requests that wait for their order
//   session_values.cpp    data blocks
//   session_batches.cpp   lines of batches
//   session_login.cpp     clients that have not logged in, and requests that users may not make
//   session_rates.cpp     rate limits
//   session_binary.cpp    requests of the binary protocol
//   session_sasl.cpp      logins in the binary protocol
//   session_streams.cpp   dumps, reports of administration, and watched events
//   session_room.cpp      the memory that it takes of the worker's shares
// A session that rests may continue on another worker: see connection_moves.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/binary.hpp"
#include "protocol/get_lines.hpp"
#include "protocol/parser.hpp"
#include "protocol/reply_codes.hpp"
#include "server/net/credentials.hpp"
#include "server/net/input_buffer.hpp"
#include "server/net/last_command.hpp"
#include "server/net/pauses.hpp"
#include "server/net/request_allowance.hpp"
#include "server/net/session_host.hpp"
#include "server/net/session_state.hpp"
#include "server/net/waiting_requests.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/item/item_builder.hpp"
#include "server/store/range/dump_progress.hpp"
#include "server/store/session_store.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

/// How a single-key request counts in its connection's order.
inline operation_kind kind_of(const protocol::PointRequest& request) noexcept {
  return request.terms.ordered                             ? operation_kind::write
         : request.only_reads() && !request.tells_access() ? operation_kind::read
                                                           : operation_kind::exclusive;
}

/// Thread-safety: owner worker only.
class Session {
 public:
  /// `owner` is resumed when operations that the session waits for end. `asks_login`: clients must log in if
  /// there are users.
  Session(SessionHost& host, ConnectionOwner& owner, bool asks_login = true);
  /// Continues a session that rested on another worker. `held`: the bytes that it had read and not used.
  /// `binary`: see speaks_binary().
  Session(SessionHost& host, ConnectionOwner& owner, std::string_view held, bool binary, UserSeat seat = {});
  /// Operations in flight continue; waiting requests are dropped.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Takes bytes that were read. `headroom` bytes before `data` are free to be written, too.
  void receive(char* data, std::size_t bytes, std::size_t headroom);
  /// Where the next bytes of a value may be read to; empty: use receive().
  [[nodiscard]] std::span<char> value_space();
  /// `bytes` were read into value_space().
  void received_value(std::size_t bytes);
  /// The client will send nothing more. Requests that came are still answered.
  void end_of_input();
  /// Continues with the held bytes: in a new turn, when output was sent, or when operations ended.
  void resume();
  /// The worker's share of memory may have the room that the session waits for.
  void give_room();
  /// The journal accepts nothing for now. The session takes no requests until journal_has_room().
  void wait_for_journal() noexcept { pauses_.add(pause::journal); }
  void journal_has_room() {
    pauses_.remove(pause::journal);
    resume();
  }
  /// Continues after the login that it waits for was judged.
  void judged();
  [[nodiscard]] bool login_judged() const noexcept { return login_->judged(); }
  /// Its user's and its address's rates may have room again. False: they have none yet.
  [[nodiscard]] bool rate_has_room();
  /// Called after bytes came that the session may not have looked at yet.
  void charge_input() {
    if (metered_) [[unlikely]] {
      charge();
      if (state_.takes_input() && !pauses_.has(pause::rate) && rate_room() == 0) {
        wait_for_rate();
      }
    }
  }
  /// Sets the usage of its address, or reviews whether there are rates; null: the address is not counted.
  void meter(Usage* client) noexcept;
  /// Sets where the session writes its last command; outlives the session.
  void show_last(LastCommand& where) noexcept { last_ = &where; }
  /// The user that logged in; null: none was required.
  [[nodiscard]] const User* user() const noexcept { return seat_.user(); }
  /// The users were read again. False: this session's user must leave.
  [[nodiscard]] bool user_stays();
  /// Moves its user to the session on another worker.
  [[nodiscard]] UserSeat give_seat() noexcept { return std::move(seat_); }
  /// Whether it is between two requests, and only pauses that pass by themselves keep it from taking the
  /// next.
  [[nodiscard]] bool may_move() const noexcept {
    return state_.between_requests() &&
           !pauses_.has(kOfRoom | pause::journal | pause::input_end | pause::rate);
  }
  /// Takes no more requests, so that it comes to rest. Only if may_move().
  void come_to_rest() noexcept {
    pauses_.remove(kRetried);
    pauses_.add(pause::move);
  }
  /// Continues after come_to_rest().
  void stay() {
    pauses_.remove(pause::move);
    resume();
  }
  /// Whether it has nothing under way, so that another session may continue with its held bytes.
  [[nodiscard]] bool rests() const noexcept {
    return may_move() && !running_ && first_waiting_ == nullptr && entry_->order.in_flight() == 0 &&
           entry_->replies.all_closed() && unsent_bytes() == 0 && !entry_->awaits_disk &&
           entry_->phase == connection_phase::open;
  }
  /// Bytes read and not used; valid until the next call of a non-const function.
  [[nodiscard]] std::string_view held() const noexcept { return held_.view(); }
  /// There is no memory for its unfinished input: tells the client, and takes nothing more.
  void refuse_input();
  /// Requests taken on this worker, with any outcome. Wraps around.
  [[nodiscard]] std::uint32_t requests() const noexcept { return allowance_.taken(); }
  /// Called at the end of a round in which it got replies.
  void end_round() noexcept {
    if (allowance_.promises()) {
      allowance_.keep_promise(load(), host_->directory.share());
    }
    if (metered_) [[unlikely]] {
      charge();
    }
  }

  [[nodiscard]] session_state state() const noexcept { return state_.current(); }
  [[nodiscard]] bool refused() const noexcept { return state_.is(session_state::refused); }
  [[nodiscard]] bool watches() const noexcept { return state_.is(session_state::watch); }
  /// Whether its client speaks the binary protocol, once it has sent anything.
  [[nodiscard]] bool speaks_binary() const noexcept { return state_.speaks_binary(); }
  [[nodiscard]] Pauses pauses() const noexcept { return pauses_; }
  [[nodiscard]] bool paused_for(pause reason) const noexcept { return pauses_.has(reason); }
  /// Whether the next bytes may be shown in a log: they begin a request and hold no password.
  [[nodiscard]] bool expects_line() const noexcept { return state_.expects_line(); }
  /// Whether it could use bytes that can be read now.
  [[nodiscard]] bool wants_input() const noexcept { return state_.takes_input() && pauses_.empty(); }
  /// Whether it will produce no more replies: once the output is sent, the connection may be closed.
  [[nodiscard]] bool finished() const noexcept {
    return !state_.takes_input() && first_waiting_ == nullptr && entry_->replies.all_closed();
  }
  /// Whether only the journal keeps it from reading, and everything before was taken and answered. Then it
  /// holds at most the beginning of a request, and if no more input comes, it has nothing left to do.
  [[nodiscard]] bool awaits_input_alone() const noexcept {
    const bool is_idle = !takes_without_input() && first_waiting_ == nullptr &&
                         entry_->order.in_flight() == 0 && entry_->replies.all_closed();
    return pauses_ == pause::journal && state_.takes_input() && (is_idle || watches()) && unsent_bytes() == 0;
  }
  /// Whether it was ended because of an error in the client's input.
  [[nodiscard]] bool ended_in_error() const noexcept { return in_error_; }
  /// Whether it is just taking input.
  [[nodiscard]] bool running() const noexcept { return running_; }

  [[nodiscard]] ConnectionState& entry() const noexcept { return *entry_; }
  [[nodiscard]] OutputBuffer& output() const noexcept { return entry_->replies.output(); }
  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return entry_->replies.unsent_bytes(); }
  /// Bytes held of a request that is not complete. Bytes of values are not counted.
  [[nodiscard]] std::size_t unfinished_bytes() const noexcept { return held_.view().size() + kept_; }
  /// Whether its large value came so slowly up to `now_ns` that it should make room for another one.
  [[nodiscard]] bool value_is_slow(std::uint64_t now_ns) const noexcept {
    return admitted_ != 0 &&
           now_ns - admitted_ns_ > Admission::kStallsNs + (admitted_ - block_left_) * Admission::kNsOfByte;
  }

  static constexpr std::size_t kMostRanges = 4;         ///< in flight; each may stage a whole page
  static constexpr std::size_t kMostOfStranger = 4096;  ///< bytes of a line before login

 private:
  using Waiting = WaitingRequest<ItemBuilder>;

  /// A line of many keys.
  struct KeysLine {
    protocol::PointRequest each;  ///< the request for each key
    std::size_t bytes = 0;        ///< of the keys that are left
    std::size_t end_bytes = 0;    ///< between the last key and the next line
  };

  // Taking input: each function returns how many bytes it used.
  void run(std::string_view data, bool held);
  void keep_rest(std::string_view rest, std::size_t used, bool held);
  void note_what_resumes() noexcept;
  [[nodiscard]] bool takes_without_input() const noexcept {
    return state_.is(session_state::keys) || state_.is(session_state::dump) ||
           state_.is(session_state::report);
  }
  std::size_t process(std::string_view data);
  [[nodiscard]] bool ready_for_input();
  std::size_t take(std::string_view rest);
  std::size_t take_opening(std::string_view data);
  std::size_t take_line(std::string_view data);
  std::size_t take_usual(std::string_view data);
  std::size_t take_gets(std::string_view data);
  std::size_t take_sets(std::string_view data);
  std::size_t start_sets(std::span<const protocol::SentValue> values, std::uint32_t ticket);
  std::size_t take_error(const protocol::Parsed& parsed);
  std::size_t take_keys(std::string_view data);
  std::size_t take_with_value(const protocol::Request& request, std::string_view data);
  std::size_t take_value(std::string_view data);
  std::size_t take_value_end(std::string_view data);
  std::size_t take_swallowed(std::string_view data);
  std::size_t take_batch_line(std::string_view data);
  std::size_t take_login(std::string_view data);
  std::size_t take_credentials(std::string_view data);
  void log_in(Login::Claim claim);
  void finish_login();
  void end_login(protocol::reply_code verdict);
  void forbid_binary(const protocol::Request& request);
  void count_wrong_login(std::string_view name);
  void count_forbidden(const protocol::Request& request);
  void take_seat(UserSeat seat) noexcept;
  std::size_t forbid(const protocol::Request& request, std::size_t consumed);
  [[nodiscard]] bool is_line(const protocol::Parsed& parsed, std::string_view data);
  void leave(std::string_view data);
  void note_last(protocol::verb op) noexcept { last_->store(op, std::memory_order_relaxed); }
  /// Writes an event to the log, with the client's name.
  void note(happening what, const std::string& text = {}) const;
  void drain();
  /// Drains because of an error in the client's input.
  void drain_in_error() {
    in_error_ = true;
    drain();
  }
  void stop_taking();

  // The binary protocol.
  std::size_t take_binary(std::string_view data);
  [[nodiscard]] bool take_binary_value(const protocol::Request& request, std::string_view data,
                                       std::size_t& used);
  std::size_t take_sasl(const protocol::Request& request, std::string_view data, std::size_t header);
  [[nodiscard]] bool login_known() const noexcept;
  void tell_mechanisms(protocol::BinaryForm form);
  void refuse_binary(const protocol::BinaryParsed& parsed, const protocol::Request& request);
  [[nodiscard]] bool dispatch_binary(const protocol::Request& request);
  [[nodiscard]] static std::string binary_text(const protocol::Request& request, std::string_view text,
                                               const AdminCursor& cursor);
  void answer_binary(protocol::BinaryForm form, protocol::binary_status status);
  void answer_binary_text(protocol::BinaryForm form, std::string_view text);
  /// Times the request if it belongs to the sample.
  void sample(const protocol::Request& request);
  /// The request has to wait and will be taken again: it is counted once, and its time continues.
  void take_again() noexcept { again_ = entry_->replies.next_ticket(); }

  // Blocks.
  [[nodiscard]] bool begin_value(const protocol::Request& request);
  void store_value();
  void drop_value() noexcept;
  void swallow(std::uint64_t bytes, std::string_view error) noexcept;
  void refuse_value(std::string_view error);

  // Batches.
  void begin_batch(std::uint32_t lines);
  [[nodiscard]] std::string_view flaw_of(const protocol::Parsed& parsed, const protocol::Request& request);
  void refuse_batch();
  [[nodiscard]] bool batch_started();
  void drop_batch() noexcept;

  // Streams.
  void begin_dump(const protocol::Request& request);
  [[nodiscard]] bool dump_ended();
  void add_page(const protocol::Request& request, const ReplyAddress& address, AdminCursor& cursor);
  [[nodiscard]] bool report_ended();
  void drop_report() noexcept;
  void watch(std::uint32_t kinds);
  void pull_watched();
  void stop_watching() noexcept;

  // Memory.
  /// How many requests may be taken now.
  [[nodiscard]] std::uint32_t allowed() noexcept {
    const std::uint32_t left = allowance_.left(host_->turn);
    return left != 0 ? left : renew_allowance();
  }
  [[nodiscard]] std::uint32_t renew_allowance() noexcept;
  /// Whether a request may be taken. If so, counts it.
  [[nodiscard]] bool may_take() noexcept {
    if (allowed() == 0) [[unlikely]] {
      return false;
    }
    allowance_.take(1);
    return true;
  }
  [[nodiscard]] RequestAllowance::Load load() const noexcept {
    return {entry_->order.in_flight(), waiting_count_};
  }
  /// How many requests the rates allow now.
  [[nodiscard]] std::uint32_t rate_room() const noexcept;
  void wait_for_rate();
  void charge() noexcept;
  void wait_for_page();
  void wait_with_value(std::uint64_t bytes);
  void hold(const char* data, std::size_t bytes);
  void keep(std::size_t bytes) noexcept;
  void keep_no_more() noexcept;
  /// A value is complete, or never will be: gives up its room, unless it belongs to a batch.
  [[gnu::always_inline]] void give_up_room() noexcept {
    if ((kept_ | admitted_) != 0 && batch_ == nullptr) [[unlikely]] {
      keep_no_more();
    }
  }

  // Requests. False: it must be taken again later.
  [[nodiscard]] bool dispatch(const protocol::Request& request);
  void begin_keys(const protocol::Request& request);
  [[nodiscard]] bool dispatch_alone(const protocol::Request& request, operation_kind kind);
  void administer(const protocol::Request& request, const ReplyAddress& address);
  void begin_page(protocol::Request& request) noexcept;
  /// `kind`: kind_of(request). `value`: of a command that stores; it is moved from. `silent`: the client gets
  /// no reply.
  [[gnu::always_inline]] void start(const protocol::PointRequest& request, operation_kind kind,
                                    ItemBuilder* value, bool silent) {
    MXKV_DCHECK(kind == kind_of(request), "the order knows what starts");
    OrderClaim claim{0};
    const bool starts = starts_now(kind, request.key, claim);
    const std::uint32_t ticket = ticket_for(silent);
    if (starts) [[likely]] {
      launch(request, kind, value, address(claim, ticket));
    } else {
      enqueue(request, value, claim, ticket);
    }
  }
  void start_any(const protocol::PointRequest& request, bool silent);
  void start_gets(std::span<const protocol::AskedKey> keys, bool with_cas);
  std::size_t take_keys_of_get(std::string_view line);

  // Their order.
  /// Whether the request may start now; if not, it has to wait. Sets `claim` in both cases.
  [[nodiscard]] bool starts_now(operation_kind kind, std::string_view key, OrderClaim& claim);
  void enqueue(const protocol::PointRequest& request, ItemBuilder* value, OrderClaim claim,
               std::uint32_t ticket);
  bool start_waiting();
  /// Starts a request whose order allows it.
  [[gnu::always_inline]] void launch(const protocol::PointRequest& request, operation_kind kind,
                                     ItemBuilder* value, const ReplyAddress& where) {
    const CommitSeq seq = kind == operation_kind::write ? entry_->commits.start() : 0;
    host_->store.point(host_->worker, request, value, where, seq);
  }
  [[nodiscard]] ReplyAddress address(OrderClaim claim, std::uint32_t ticket) const noexcept {
    ReplyAddress result = host_->directory.address(*entry_);
    result.ticket = ticket;
    result.claim = claim.stored();
    return result;
  }
  [[nodiscard]] std::uint32_t ticket_for(bool noreply) noexcept {
    return noreply ? ReplyAddress::kNoTicket : entry_->replies.open();
  }
  void answer(std::string_view text);
  void answer_code(protocol::reply_code code);

  SessionHost* host_;
  ConnectionState* entry_;
  protocol::LineState line_;
  InputBuffer held_;
  SessionState state_;
  Pauses pauses_;
  bool running_ = false;
  bool in_error_ = false;
  bool limited_ = false;    ///< its user may not do everything
  bool usual_gets_ = true;  ///< usual get lines may be taken without looking at their keys
  bool usual_sets_ = true;  ///< the same for sets
  bool metered_ = false;    ///< there are rates
  std::uint32_t wrong_logins_ = 0;
  std::uint32_t again_ = ReplyAddress::kNoTicket;  ///< the ticket of a request that is taken again
  UserSeat seat_;
  std::shared_ptr<const Login> login_;  ///< the login that is being judged
  Usage* client_ = nullptr;             ///< of its address
  LastCommand unseen_{};                ///< used while nobody is shown the last command
  LastCommand* last_ = &unseen_;
  std::uint64_t charged_read_ = 0;  ///< of all bytes ever read, and written
  std::uint64_t charged_written_ = 0;

  RequestAllowance allowance_;
  std::size_t kept_ = 0;           ///< bytes held of a batch that is not complete
  std::uint64_t admitted_ = 0;     ///< size of the large value that is being received
  std::uint64_t admitted_ns_ = 0;  ///< when it began, or last waited for memory

  KeysLine keys_;

  // A block: a value that is being received, or bytes that are dropped.
  std::optional<ItemBuilder> value_;
  std::uint64_t block_left_ = 0;  ///< bytes still to come; when swallowing, with the end of line
  protocol::DataBlockEnd value_end_;
  bool quiet_ = false;                ///< noreply
  protocol::BinaryForm binary_form_;  ///< of the value, or of the login, in the binary protocol
  std::string_view error_;            ///< the reply once all is swallowed; empty: none

  // A batch whose lines are being received.
  std::unique_ptr<ReceivedBatch> batch_;  ///< null: no batch is being received
  std::uint32_t batch_lines_ = 0;         ///< lines received so far
  std::uint64_t batch_bytes_ = 0;         ///< of the values in these lines

  DumpProgress* dump_ = nullptr;  ///< the dump in progress, page by page; null: none
  /// A reply to an administration command that has more pages to come.
  struct Report {
    protocol::verb op;
    std::string argument;
    protocol::BinaryForm binary;
    ReplyAddress address;
    AdminCursor cursor;
  };
  std::unique_ptr<Report> report_;  ///< null: none
  std::shared_ptr<Watcher> watcher_;
  std::uint32_t watch_ticket_ = 0;

  // Requests that wait for their order.
  Waiting* first_waiting_ = nullptr;
  Waiting* last_waiting_ = nullptr;
  std::size_t waiting_count_ = 0;
};

}  // namespace mxkv::server
