#include "server/net/peer_link.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {

namespace {

constexpr std::string_view kNoop = "mn\r\n";
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10U;
constexpr std::uint64_t kFirstPauseNs = 10'000'000;
constexpr std::uint64_t kLongestPauseNs = 500'000'000;
/// Between two looks at whether a name was found.
constexpr std::uint64_t kLookUpAgainNs = 10'000'000;
/// An empty buffer of more than this is given back.
constexpr std::size_t kKeptBytes = std::size_t{256} << 10U;

void give_up_room(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptBytes) {
    buffer.shrink_to_fit();
  }
}

}  // namespace

PeerLink::PeerLink(PeerLinkOwner& owner, SocketEvents<PeerLink>& events, ForwardCounters& counters,
                   const PeerLinkLimits& limits, std::string address)
    : owner_(owner), events_(events), counters_(counters), limits_(limits), address_(std::move(address)) {}

PeerLink::~PeerLink() {
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

// --- Connecting ---

void PeerLink::begin_connecting(std::uint64_t now_ns) {
  MXKV_ASSERT(state_ == state::down && socket_ < 0, "a link connects once");
  since_ns_ = now_ns;
  ForwardCounters::add(counters_.connects);
  if (lookup_.valid()) {  // of an earlier try, which was given up
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
  socket_ = ::socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (socket_ < 0 || !events_.add(socket_, *this)) {
    fail(now_ns);
    return;
  }
  static_cast<void>(::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to.storage), to.bytes) == 0) {
    connected();
  } else if (errno == EINPROGRESS) {
    output_waits_ = true;
    events_.watch_output(socket_, *this, true);
  } else {
    fail(now_ns);
  }
}

void PeerLink::connected() {
  state_ = state::up;
  readable_ = true;  // whatever was told of it before
}

// What was not sent can go elsewhere, and what only reads can, too: the owner knows.
void PeerLink::fail(std::uint64_t now_ns) {
  if (socket_ >= 0) {
    ::close(std::exchange(socket_, -1));
  }
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
    owner_.lost(std::move(one.request), one.begins_at < sent_to);
  }
}

// --- Sending ---

void PeerLink::send(std::unique_ptr<ForwardedRequest> request, std::uint64_t now_ns) {
  if (in_flight_.empty()) {
    if (state_ == state::up && has_ended()) {
      fail(now_ns);
      again_ns_ = now_ns;  // it was good until its peer left
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

// Nothing is owed: whatever there is to be read is the end. Nobody may have asked since it came.
bool PeerLink::has_ended() const noexcept {
  char byte = 0;
  const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
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
    const ssize_t sent = ::send(socket_, output_.data() + output_sent_, output_.size() - output_sent_,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      output_sent_ += static_cast<std::size_t>(sent);
      ForwardCounters::add(counters_.sent_bytes, static_cast<std::uint64_t>(sent));
      any = true;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      output_waits_ = true;
      events_.watch_output(socket_, *this, true);
      return any;
    } else if (errno != EINTR) {
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
    events_.watch_output(socket_, *this, false);
    int error = 0;
    socklen_t bytes = sizeof error;
    if (state_ == state::connecting) {
      if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0) {
        fail(now_ns);
        return;
      }
      connected();
      since_ns_ = now_ns;
    }
    static_cast<void>(flush(now_ns));
  }
  if (!readable_ || state_ != state::up) {
    return;
  }
  std::array<char, kReadAtOnce> buffer;
  while (readable_) {
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    // Nothing more is told of where a read was short, unless its end is near.
    readable_ = read_on_ || got == static_cast<ssize_t>(buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      readable_ = false;
      return;
    }
    if (got > 0) {
      since_ns_ = now_ns;
      pause_ns_ = 0;
      ForwardCounters::add(counters_.received_bytes, static_cast<std::uint64_t>(got));
    }
    if (got <= 0 || !take({buffer.data(), static_cast<std::size_t>(got)})) {
      fail(now_ns);
      return;
    }
  }
}

// False: what came is nothing that was asked for.
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
  if (state_ == state::resolving) {
    look_up(now_ns);
  }
  const bool begins = state_ == state::resolving || state_ == state::connecting;
  const bool owed = state_ == state::up && !in_flight_.empty();
  if ((begins && now_ns - since_ns_ >= limits_.connect_ns) ||
      (owed && now_ns - since_ns_ >= limits_.answer_ns)) {
    fail(now_ns);
  }
}

std::uint64_t PeerLink::next_ns() const noexcept {
  switch (state_) {
    case state::resolving:
      return since_ns_ + kLookUpAgainNs;
    case state::connecting:
      return since_ns_ + limits_.connect_ns;
    case state::up:
      return in_flight_.empty() ? kNever : since_ns_ + limits_.answer_ns;
    case state::down:
      return kNever;
  }
  return kNever;
}

}  // namespace mxkv::server
