// The protocol state machine of one connection: bytes in, calls of the store and replies out. No sockets.
//
// It takes requests out of what was read, in order, and starts each at the store as soon as the order fence
// lets it. It stops taking requests while
//   turn       its share of this turn is used up; the worker calls resume() in the next one
//   in_flight  as many as allowed are in flight, or wait at the fence
//   output     the unsent replies are above the high-water mark, or take too much of the worker's share
//   share      a page of a range, or a large value, has to wait until the worker's share has room for it
//   order      a range or barrier conflicts with what is in flight
//   turn       also: there is no memory for a value, but room is being made
// and then does not want input: what was read so far is held, the rest stays in the kernel.
//
// A template, so that tests run it with a store of their own; the daemon's is instantiated in session.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "protocol/parser.hpp"
#include "server/net/admin_source.hpp"
#include "server/net/credentials.hpp"
#include "server/net/input_buffer.hpp"
#include "server/net/reply_estimate.hpp"
#include "server/net/session_host.hpp"
#include "server/net/waiting_requests.hpp"
#include "server/reply/connection_table.hpp"
#include "server/store/range/dump_progress.hpp"
#include "server/store/upkeep/shortage.hpp"
#include "server/store/watch/watch_hub.hpp"

namespace mxkv::server {

/// Why a session does not take requests.
enum class pause : std::uint8_t {
  none,
  turn,       ///< others have theirs first
  in_flight,  ///< until requests that were started have ended
  output,     ///< until replies were sent
  order,      ///< until what must come before has ended
  share,      ///< until its worker's share of memory has room
  memory,     ///< until room was made for a value: it asks again in each round
};

/// Thread-safety: owner worker only.
template <class Host>
class BasicSession {
 public:
  /// `owner` is what ConnectionState::session refers to.
  BasicSession(Host& host, void* owner);
  /// What was started still runs; what waits is dropped.
  ~BasicSession();
  BasicSession(const BasicSession&) = delete;
  BasicSession& operator=(const BasicSession&) = delete;

  /// Takes bytes that were read. `headroom` bytes before `data` are free to be written, too.
  void receive(char* data, std::size_t bytes, std::size_t headroom);
  /// Where the next bytes of a large value may be read to; empty: use receive().
  [[nodiscard]] std::span<char> value_space();
  /// `bytes` were read into value_space().
  void received_value(std::size_t bytes);
  /// The client will send nothing more; what it sent is still answered.
  void end_of_input();
  /// Goes on with what is held: in a new turn, when output was sent, when operations ended.
  void resume();

  /// The end of a round in which something was answered.
  void end_round() noexcept {
    if (promised_ != 0) {
      settle_promise();
    }
  }
  /// The share has room again.
  void resume_starved() {
    starved_ = waits_with_value_ = false;
    if (pause_ == pause::share) {
      resume();
    }
  }
  /// There is no memory for what it began to send: says so, and takes nothing more.
  void refuse_input();
  /// Whether that was so.
  [[nodiscard]] bool refused() const noexcept { return refused_; }
  /// Whether it is in the middle of taking input.
  [[nodiscard]] bool running() const noexcept { return running_; }
  /// Bytes that are kept of a request that is not complete, but for values.
  [[nodiscard]] std::size_t unfinished_bytes() const noexcept { return held_.view().size() + kept_; }
  /// Bytes that a large value takes, or will, which is not complete.
  [[nodiscard]] std::uint64_t admitted_bytes() const noexcept { return admitted_; }

  /// Whether bytes that can be read now could be used.
  [[nodiscard]] bool wants_input() const noexcept { return !closing_ && !eof_ && pause_ == pause::none; }
  [[nodiscard]] bool watches() const noexcept { return watcher_ != nullptr; }
  [[nodiscard]] pause paused() const noexcept { return pause_; }
  /// Whether nothing comes any more: when the output was sent, the connection may be closed.
  [[nodiscard]] bool finished() const noexcept {
    return (closing_ || (eof_ && pause_ == pause::none)) && first_waiting_ == nullptr &&
           entry_->replies.all_closed();
  }
  [[nodiscard]] OutputBuffer& output() noexcept { return entry_->replies.output(); }
  [[nodiscard]] ConnectionState& entry() const noexcept { return *entry_; }
  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return entry_->replies.unsent_bytes(); }

  static constexpr std::size_t kMostWaiting = 64;       ///< requests that wait at the fence
  static constexpr std::size_t kMostRanges = 4;         ///< in flight; each may stage a whole page
  static constexpr std::size_t kMostOfStranger = 4096;  ///< bytes that are held before login

 private:
  using Store = typename Host::Store;
  using Builder = typename Host::Builder;
  using Waiting = WaitingRequest<Builder>;
  using Batch = typename Host::Batch;

  enum class input : std::uint8_t {
    line,
    keys,
    value,
    terminator,
    swallow,
    batch,
    dump,
    login,
    credentials,
    watch
  };

  // Taking input: each returns how many bytes were used.
  void run(std::string_view data, bool held);
  std::size_t process(std::string_view data);
  std::size_t take_line(std::string_view data);
  std::size_t take_keys(std::string_view data);
  std::size_t take_whole_value(std::string_view data);
  std::size_t take_value(std::string_view data);
  std::size_t take_terminator(std::string_view data);
  std::size_t take_swallowed(std::string_view data);
  std::size_t take_login(std::string_view data);
  std::size_t take_credentials(std::string_view data);
  [[nodiscard]] bool is_line(const protocol::Parsed& parsed);
  std::size_t take_batch_line(std::string_view data);
  void begin_batch(std::uint32_t lines);
  [[nodiscard]] std::string_view flaw_of(const protocol::Parsed& parsed,
                                         const protocol::Request& request) noexcept;
  void refuse_batch();
  [[nodiscard]] bool batch_started();
  [[nodiscard]] bool dump_ended();
  void watch(std::uint32_t kinds);
  void pull_watched();
  void stop_watching() noexcept;
  // Memory, see session_room.hpp.
  /// Whether a request may be taken; then it is counted.
  [[nodiscard]] bool may_take() noexcept {
    if (turn_ != host_->turn) {
      turn_ = host_->turn;
      taken_ = allowance_ = 0;
    }
    if (taken_ >= allowance_ && !renew_allowance()) [[unlikely]] {
      return false;
    }
    ++taken_;
    return true;
  }
  [[nodiscard]] bool renew_allowance() noexcept;
  void settle_promise() noexcept;
  void wait_for_share();
  void wait_with_value();
  void hold(const char* data, std::size_t bytes);
  void keep(std::size_t bytes) noexcept;
  void keep_no_more() noexcept;
  /// A value is complete, or will not be; those of a batch are kept on.
  [[gnu::always_inline]] void end_value() noexcept {
    if ((kept_ | admitted_) != 0 && batch_ == nullptr) [[unlikely]] {
      keep_no_more();
    }
  }

  void swallow(std::uint64_t bytes, std::string_view error) noexcept;

  // Requests. False: it must be taken again later.
  [[nodiscard]] bool dispatch(const protocol::Request& request);
  [[nodiscard]] bool dispatch_alone(const protocol::Request& request, operation_kind kind);
  void begin_page(protocol::Request& request) noexcept;
  void get(std::string_view key, protocol::verb op, std::int64_t exptime, bool end_line);
  void meta_get(const protocol::Request& request);
  void mutate(const protocol::Request& request);
  [[nodiscard]] bool begin_value(const protocol::Request& request);
  void store_value();

  // The fence.
  /// Starts a request there if it may; else it has to wait. `claim` is for either.
  [[nodiscard]] bool pass_fence(operation_kind kind, std::string_view key, FenceClaim& claim);
  Waiting* enqueue(FenceClaim claim, std::uint32_t ticket, protocol::verb op);
  bool start_waiting();
  void launch(Waiting& waiting);
  [[nodiscard]] ReplyAddress address(FenceClaim claim, std::uint32_t ticket) const noexcept {
    ReplyAddress result = host_->directory.address(*entry_);
    result.ticket = ticket;
    result.fence = claim.stored();
    return result;
  }
  [[nodiscard]] std::uint32_t ticket_for(bool noreply) noexcept {
    return noreply ? ReplyAddress::kNoTicket : entry_->replies.open();
  }
  void answer(std::string_view text);
  /// Says that the value which was received last is not stored.
  void refuse_value(std::string_view error);

  Host* host_;
  ConnectionState* entry_;
  protocol::LineState line_;
  InputBuffer held_;
  input input_ = input::line;
  pause pause_ = pause::none;
  bool closing_ = false;
  bool eof_ = false;
  bool running_ = false;

  // This turn's share.
  std::uint64_t turn_ = ~std::uint64_t{0};
  std::uint32_t taken_ = 0;
  std::uint32_t allowance_ = 0;  ///< how many may be taken before memory is asked for again

  // Memory.
  ReplyEstimate estimate_;
  std::size_t promised_ = 0;       ///< of the worker's share, for what is in flight or allowed
  std::size_t kept_ = 0;           ///< of a batch that is not complete
  std::uint64_t admitted_ = 0;     ///< bytes of the large value that comes
  bool waits_with_value_ = false;  ///< in the host's list
  std::uint32_t resume_at_ = 0;    ///< when so few are in flight
  bool starved_ = false;           ///< in the host's list
  bool refused_ = false;

  // A line of many keys.
  protocol::verb keys_op_{};
  std::int64_t keys_exptime_ = 0;
  std::size_t keys_bytes_ = 0;      ///< of the keys that are left
  std::size_t keys_end_bytes_ = 0;  ///< between the last key and the next line

  DumpProgress* dump_ = nullptr;  ///< a dump that was begun; it goes page by page

  std::shared_ptr<Watcher> watcher_;
  std::uint32_t watch_ticket_ = 0;

  // A value that is being received, or swallowed.
  std::optional<Builder> value_;
  std::uint64_t value_left_ = 0;  ///< bytes of it that are to come; when swallowing: of the whole block
  protocol::DataBlockEnd value_end_;
  bool quiet_ = false;         ///< noreply
  input after_ = input::line;  ///< what follows behind it
  std::string_view error_;     ///< said when all was swallowed, if not empty

  // A batch whose lines are being received.
  std::unique_ptr<Batch> batch_;   ///< null: none is
  std::uint32_t batch_lines_ = 0;  ///< that came so far
  std::uint64_t batch_bytes_ = 0;  ///< of the values of these

  // Requests at the fence.
  Waiting* first_waiting_ = nullptr;
  Waiting* last_waiting_ = nullptr;
  std::size_t waiting_count_ = 0;
};

}  // namespace mxkv::server
