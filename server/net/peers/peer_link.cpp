#include "server/net/peers/peer_link.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

constexpr std::string_view kNoop = "mn\r\n";
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10U;
constexpr std::uint64_t kFirstPauseNs = 10'000'000;
constexpr std::uint64_t kLongestPauseNs = 500'000'000;
/// How often to check whether the lookup of a name is done.
constexpr std::uint64_t kLookUpAgainNs = 10'000'000;
/// An empty buffer of more than this is freed.
constexpr std::size_t kKeptBytes = std::size_t{256} << 10U;

void give_up_room(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptBytes) {
    buffer.shrink_to_fit();
  }
}

}  // namespace

PeerLink::PeerLink(PeerLinkOwner& owner, SocketEvents<PeerLink>& events, ForwardCounters& counters,
                   const PeerLinkRules& rules, std::string address)
    : owner_(owner), events_(events), counters_(counters), rules_(rules), address_(std::move(address)) {}

// --- Connecting ---

void PeerLink::begin_connecting(std::uint64_t now_ns) {
  MXKV_ASSERT(state_ == state::down && !socket_.is_open(), "a link connects once");
  since_ns_ = now_ns;
  look_again_ns_ = now_ns + kLookUpAgainNs;
  fresh_ = true;
  ForwardCounters::add(counters_.connects);
  if (lookup_.valid()) {  // of an earlier attempt that was given up
    state_ = state::resolving;
  } else if (const std::optional<PeerAddress> to = numeric_address(address_)) {
    connect(*to, now_ns);
  } else {
    state_ = state::resolving;
    lookup_ = std::async(std::launch::async, [name = address_] { return looked_up(name); });
  }
}

void PeerLink::look_up(std::uint64_t now_ns) {
  if (lookup_.wait_for(std::chrono::seconds{0}) != std::future_status::ready) {
    return;
  }
  if (const std::optional<PeerAddress> to = lookup_.get()) {
    connect(*to, now_ns);
  } else {
    fail(now_ns);
  }
}

void PeerLink::connect(const PeerAddress& to, std::uint64_t now_ns) {
  state_ = state::connecting;
  if (!socket_.open(to) || !events_.add(socket_.descriptor(), *this)) {
    fail(now_ns);
    return;
  }
  switch (socket_.connect(to)) {
    case PeerSocket::outcome::done:
      connected(now_ns);
      break;
    case PeerSocket::outcome::wants_output:
      await_output();
      break;
    default:
      fail(now_ns);
      break;
  }
}

void PeerLink::await_output() {
  if (!std::exchange(output_waits_, true)) {
    events_.watch_output(socket_.descriptor(), *this, true);
  }
}

void PeerLink::connected(std::uint64_t now_ns) {
  if (rules_.tls == nullptr) {
    state_ = state::up;
    readable_ = true;  // events may have come before
    return;
  }
  state_ = state::greeting;
  try {
    socket_.secure(rules_.tls->current());
  } catch (const std::bad_alloc&) {
    fail(now_ns);
    return;
  }
  shake_hands(now_ns);
}

void PeerLink::shake_hands(std::uint64_t now_ns) {
  switch (socket_.shake_hands(read_on_)) {
    case PeerSocket::outcome::done:
      state_ = state::up;
      readable_ = true;  // replies may have come with the last bytes of the handshake
      since_ns_ = now_ns;
      break;
    case PeerSocket::outcome::wants_input:
      break;
    case PeerSocket::outcome::wants_output:
      await_output();
      break;
    default:
      if (socket_.complaint().empty()) {
        owner_.complained(address_, "it closed the connection, perhaps because it does not speak TLS");
      }
      fail(now_ns);
      break;
  }
}

// Gives all unanswered requests back. The owner decides which of them may be sent again.
void PeerLink::fail(std::uint64_t now_ns, bool refused) {
  if (const std::string why = socket_.complaint(); !why.empty()) {
    owner_.complained(address_, why);
  }
  socket_.close();
  const std::uint64_t sent_to = output_begins_ + output_sent_;
  state_ = state::down;
  readable_ = read_on_ = writable_ = output_waits_ = failed_ = false;
  pause_ns_ = std::clamp(2 * pause_ns_, kFirstPauseNs, kLongestPauseNs);
  again_ns_ = now_ns + pause_ns_;
  output_begins_ = sent_to;
  output_sent_ = 0;
  give_up_room(output_);
  give_up_room(input_);
  std::deque<InFlight> lost;
  lost.swap(in_flight_);
  for (InFlight& one : lost) {
    owner_.lost(std::move(one.request), !refused && one.begins_at < sent_to);
  }
}

// --- Sending ---

void PeerLink::send(std::unique_ptr<ForwardedRequest> request, std::uint64_t now_ns) {
  if (in_flight_.empty()) {
    if (state_ == state::up && socket_.has_ended()) {
      fail(now_ns);
      again_ns_ = now_ns;  // the link worked until the other node closed it
    }
    frame_ = ReplyFrame{request->shape};
    since_ns_ = state_ == state::up ? now_ns : since_ns_;
  }
  const std::uint64_t begins_at = output_begins_ + output_.size();
  output_ += request->text;
  if (request->shape == reply_shape::until_noop) {
    output_ += kNoop;
  }
  in_flight_.push_back({std::move(request), begins_at});
}

bool PeerLink::flush(std::uint64_t now_ns) {
  if (output_.empty()) {
    return false;
  }
  if (state_ == state::down) {
    begin_connecting(now_ns);
  }
  return state_ == state::up && !output_waits_ && send_some(now_ns);
}

bool PeerLink::send_some(std::uint64_t now_ns) {
  bool any = false;
  while (output_sent_ < output_.size()) {
    const auto [sent, how] = socket_.write(std::string_view{output_}.substr(output_sent_));
    output_sent_ += sent;
    ForwardCounters::add(counters_.sent_bytes, sent);
    any = any || sent > 0;
    if (how == PeerSocket::outcome::wants_output) {
      await_output();
      return any;
    }
    if (how != PeerSocket::outcome::done) {
      fail(now_ns);
      return true;
    }
  }
  output_begins_ += output_.size();
  output_sent_ = 0;
  give_up_room(output_);
  return any;
}

// --- Receiving ---

void PeerLink::became_ready(Readiness now) noexcept {
  readable_ = readable_ || now.input;
  read_on_ = read_on_ || now.read_on;
  writable_ = writable_ || now.output;
}

void PeerLink::read(std::uint64_t now_ns) {
  if (std::exchange(writable_, false) && output_waits_) {
    output_waits_ = false;
    events_.watch_output(socket_.descriptor(), *this, false);
    readable_ = readable_ || rules_.tls != nullptr;  // a TLS read may have waited to write
    if (state_ == state::connecting) {
      if (!socket_.has_connected()) {
        fail(now_ns);
        return;
      }
      since_ns_ = now_ns;
      connected(now_ns);
    }
  }
  if (state_ == state::greeting) {
    shake_hands(now_ns);
  }
  if (!readable_ || state_ != state::up) {
    return;
  }
  std::array<char, kReadAtOnce> buffer;
  while (readable_) {
    const auto [bytes, how] = socket_.read(buffer, read_on_);
    readable_ = how == PeerSocket::outcome::done;
    if (how == PeerSocket::outcome::wants_output) {
      await_output();
    }
    if (bytes > 0) {
      since_ns_ = now_ns;
      pause_ns_ = 0;
      ForwardCounters::add(counters_.received_bytes, bytes);
    }
    const std::string_view come{buffer.data(), bytes};
    if (bytes > 0 && std::exchange(fresh_, false) && refuses(come)) [[unlikely]] {
      fail(now_ns, true);
      return;
    }
    if ((bytes > 0 && !take(come)) || how == PeerSocket::outcome::ended ||
        how == PeerSocket::outcome::failed) {
      fail(now_ns);
      return;
    }
  }
}

// Whether these bytes are the error of a listener that lets nobody in and has read no request.
bool PeerLink::refuses(std::string_view bytes) {
  if (bytes == protocol::kWantsTls) {
    owner_.complained(address_, "it speaks TLS only");
    return true;
  }
  return bytes == protocol::kTooManyConnections;
}

// False: the bytes are no reply that is owed.
bool PeerLink::take(std::string_view bytes) {
  if (input_.empty()) {
    input_ = bytes.substr(take_replies(bytes));
  } else {
    input_ += bytes;
    input_.erase(0, take_replies(input_));
  }
  if (input_.empty()) {
    give_up_room(input_);
  }
  return !failed_ && (input_.empty() || !in_flight_.empty());
}

std::size_t PeerLink::take_replies(std::string_view bytes) {
  std::size_t taken = 0;
  while (!in_flight_.empty() && taken < bytes.size() && frame_.find_end(bytes.substr(taken))) {
    const std::string_view reply = bytes.substr(taken, frame_.reply_bytes());
    taken += frame_.all_bytes();
    std::unique_ptr<ForwardedRequest> request = std::move(in_flight_.front().request);
    in_flight_.pop_front();
    if (!in_flight_.empty()) {
      frame_ = ReplyFrame{in_flight_.front().request->shape};
    }
    owner_.answered(std::move(request), reply);
  }
  failed_ = failed_ || (!in_flight_.empty() && frame_.failed());
  return taken;
}

// --- Times ---

void PeerLink::check(std::uint64_t now_ns) {
  if (state_ == state::resolving && now_ns >= look_again_ns_) {
    look_again_ns_ = now_ns + kLookUpAgainNs;
    look_up(now_ns);
  }
  const bool begins = state_ == state::resolving || state_ == state::connecting || state_ == state::greeting;
  const bool owed = state_ == state::up && !in_flight_.empty();
  if ((begins && now_ns - since_ns_ >= rules_.connect_ns) ||
      (owed && now_ns - since_ns_ >= rules_.answer_ns)) {
    fail(now_ns);
  }
}

std::uint64_t PeerLink::next_ns() const noexcept {
  switch (state_) {
    case state::resolving:
      return look_again_ns_;
    case state::connecting:
    case state::greeting:
      return since_ns_ + rules_.connect_ns;
    case state::up:
      return in_flight_.empty() ? kNever : since_ns_ + rules_.answer_ns;
    case state::down:
      return kNever;
  }
  return kNever;
}

}  // namespace mxkv::server
