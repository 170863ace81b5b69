#include "bench/client/client_thread.hpp"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "bench/client/units.hpp"

namespace mxkv::bench {
namespace {

constexpr int kEventsATurn = 256;
constexpr std::uint64_t kInterrupt = ~std::uint64_t{0};  // in place of a connection's index
constexpr std::uint64_t kPatienceNs = kNsPerS;           // for the last replies of an interrupted run

/// epoll_wait with nanoseconds; whole milliseconds, rounded up, where the kernel has no such call.
int wait_for_events(int epoll, std::span<epoll_event> events, std::uint64_t wait_ns) noexcept {
  const timespec wait{static_cast<time_t>(wait_ns / kNsPerS), static_cast<long>(wait_ns % kNsPerS)};
  const int ready = ::epoll_pwait2(epoll, events.data(), static_cast<int>(events.size()), &wait, nullptr);
  if (ready >= 0 || errno != ENOSYS) {
    return ready;
  }
  return ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()),
                      static_cast<int>((wait_ns + kNsPerMs - 1) / kNsPerMs));
}

}  // namespace

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerS + static_cast<std::uint64_t>(now.tv_nsec);
}

ClientThread::ClientThread(const Wire& wire, SharedWorkload& workload, std::uint32_t index,
                           std::uint32_t threads, const ClientOptions& options, SharedSeries& series)
    : wire_(wire),
      workload_(workload),
      options_(options),
      source_(workload, index, threads),
      pacer_(options.pace),
      recorder_(series, pacer_.paced()),
      context_{wire_, source_, workload_, recorder_.current(), pacer_},
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

runtime::Result<std::size_t> ClientThread::connect(const Endpoint& endpoint) {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    auto socket = connect_to(endpoint);
    if (!socket) {
      return socket.error();
    }
    connections_.emplace_back(std::move(socket).value(), options_.depth, options_.refill);
  }
  open_.assign(connections_.size(), false);
  writing_.assign(connections_.size(), false);
  return connections_.size();
}

void ClientThread::arm(int how, std::size_t index) {
  epoll_event event{};
  event.events = EPOLLIN | (writing_[index] ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  event.data.u64 = index;
  ::epoll_ctl(epoll_.descriptor(), how, connections_[index].descriptor(), &event);
}

void ClientThread::drop(std::size_t index) {
  ::epoll_ctl(epoll_.descriptor(), EPOLL_CTL_DEL, connections_[index].descriptor(), nullptr);
  open_[index] = false;
  --active_;
}

void ClientThread::settle(std::size_t index, Connection::Status status) {
  if (status == Connection::Status::broken) {
    if (problem_.empty()) {
      problem_ = "the server closed a connection, or sent a reply that does not follow the protocol";
    }
    drop(index);
  } else if (status == Connection::Status::idle && !pacer_.paced()) {
    drop(index);
  } else if (connections_[index].wants_write() != writing_[index]) {
    writing_[index] = !writing_[index];
    arm(EPOLL_CTL_MOD, index);
  }
}

const std::string& ClientThread::first_of(const std::string& (Connection::*text)()
                                              const noexcept) const noexcept {
  static const std::string none;
  const auto found = std::ranges::find_if(
      connections_, [text](const Connection& connection) { return !(connection.*text)().empty(); });
  return found == connections_.end() ? none : ((*found).*text)();
}
const std::string& ClientThread::refusal() const noexcept {
  return first_of(&Connection::refusal);
}
const std::string& ClientThread::first_wrong() const noexcept {
  return first_of(&Connection::first_wrong);
}
const std::string& ClientThread::first_missing() const noexcept {
  return first_of(&Connection::first_missing);
}

void ClientThread::start_all() {
  active_ = connections_.size();
  if (times_.interrupt != nullptr) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;  // once: it stays readable
    event.data.u64 = kInterrupt;
    ::epoll_ctl(epoll_.descriptor(), EPOLL_CTL_ADD, times_.interrupt->descriptor(), &event);
  }
  if (pacer_.paced()) {
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // by default timers may be 50 us late
    pacer_.start(times_.start_ns);
  }
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    open_[i] = true;
    arm(EPOLL_CTL_ADD, i);
    if (!pacer_.paced()) {
      settle(i, connections_[i].start(context_, monotonic_ns()));
    }
  }
}

bool ClientThread::may_send(std::uint64_t now_ns) const noexcept {
  return source_.left() > 0 && open_at(now_ns);
}

std::uint64_t ClientThread::silence_ns() const noexcept {
  const std::uint64_t silence_ns = options_.silence_ms * kNsPerMs;
  return interrupted() ? std::min(silence_ns, kPatienceNs) : silence_ns;
}

bool ClientThread::at_work(std::uint64_t now_ns) const noexcept {
  return active_ > 0 && (!pacer_.paced() || outstanding_ > 0 || may_send(now_ns));
}

std::uint64_t ClientThread::wait_ns(std::uint64_t now_ns) const noexcept {
  std::uint64_t until_ns = heard_ns_ + silence_ns();
  // If every pipeline is full, only a reply makes room.
  if (pacer_.paced() && may_send(now_ns) && outstanding_ < active_ * options_.depth) {
    until_ns = std::min(until_ns, pacer_.next_ns());
    until_ns = times_.deadline_ns != 0 ? std::min(until_ns, times_.deadline_ns) : until_ns;
  }
  return until_ns - std::min(until_ns, now_ns);
}

void ClientThread::handle_events(std::span<const epoll_event> events) {
  for (const epoll_event& event : events) {
    if (event.data.u64 == kInterrupt) {
      heard_ns_ = monotonic_ns();  // the time-out begins
      continue;
    }
    const auto index = static_cast<std::size_t>(event.data.u64);
    if (!open_[index]) {
      continue;  // broken since the events were read
    }
    Connection& connection = connections_[index];
    const std::uint64_t now_ns = monotonic_ns();
    recorder_.tick(now_ns);
    const bool sending = open_at(now_ns);
    const std::size_t before = connection.outstanding();
    const Connection::Status status = connection.turn(context_, now_ns, sending);
    outstanding_ = outstanding_ + connection.outstanding() - before;
    heard_ns_ = now_ns;
    settle(index, status);
  }
}

void ClientThread::send_due(std::uint64_t now_ns) {
  if (outstanding_ == 0) {
    heard_ns_ = now_ns;  // silence is no failure if no request is outstanding
  }
  std::size_t passed = 0;  // connections in a row that have no room
  while (may_send(now_ns) && pacer_.next_ns() <= now_ns && passed < connections_.size()) {
    const std::size_t index = next_;
    next_ = next_ + 1 == connections_.size() ? 0 : next_ + 1;
    if (!open_[index] || !connections_[index].offer(context_, now_ns)) {
      ++passed;
      continue;
    }
    passed = 0;
    ++outstanding_;
    offered_.push_back(index);
  }
  for (const std::size_t index : offered_) {
    Connection& connection = connections_[index];
    if (!open_[index]) {
      continue;
    }
    if (connection.flush()) {
      settle(index, Connection::Status::waiting);
      continue;
    }
    outstanding_ -= connection.outstanding();
    connection.abandon(context_, now_ns);
    settle(index, Connection::Status::broken);
  }
  offered_.clear();
  lag_ns_.store(may_send(now_ns) ? pacer_.lag_ns(now_ns) : 0, std::memory_order_relaxed);
}

void ClientThread::run(const RunTimes& times) {
  times_ = times;
  heard_ns_ = monotonic_ns();
  recorder_.start(times.start_ns, times.warmup_ns);
  start_all();
  std::array<epoll_event, kEventsATurn> events;
  // A closed loop only waits for replies, so the time of the last reply is exact enough.
  const auto time = [this] { return pacer_.paced() ? monotonic_ns() : heard_ns_; };
  for (std::uint64_t now_ns = time(); at_work(now_ns); now_ns = time()) {
    if (pacer_.paced()) {
      recorder_.tick(now_ns);
      send_due(now_ns);
    }
    const int ready = wait_for_events(epoll_.descriptor(), events, wait_ns(now_ns));
    if (ready > 0) {
      handle_events({events.data(), static_cast<std::size_t>(ready)});
    } else if ((!pacer_.paced() || outstanding_ > 0) && monotonic_ns() - heard_ns_ >= silence_ns()) {
      problem_ = "no reply for " + std::to_string(silence_ns() / kNsPerMs) + " ms";
      break;
    }
    done_.store(recorder_.operations(), std::memory_order_relaxed);
  }
  const std::uint64_t end_ns = monotonic_ns();
  recorder_.tick(end_ns);
  for (Connection& connection : connections_) {
    connection.abandon(context_, end_ns);
  }
  if (pacer_.paced() && source_.left() > 0) {
    pacer_.stop(times_.deadline_ns != 0 ? std::min(times_.deadline_ns, end_ns) : end_ns);
  }
  recorder_.finish(end_ns);
  done_.store(recorder_.operations(), std::memory_order_relaxed);
  lag_ns_.store(0, std::memory_order_relaxed);
}

}  // namespace mxkv::bench
