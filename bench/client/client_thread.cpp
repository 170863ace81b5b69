#include "bench/client/client_thread.hpp"

#include <sys/epoll.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <utility>

namespace mxkv::bench {
namespace {

constexpr int kEventsATurn = 256;

}  // namespace

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

ClientThread::ClientThread(const Wire& wire, SharedWorkload& workload, std::uint32_t index,
                           std::uint32_t threads, const ClientOptions& options)
    : wire_(wire), workload_(workload), options_(options), source_(workload, index, threads) {}

runtime::Result<std::size_t> ClientThread::connect(const Endpoint& endpoint) {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    auto socket = connect_to(endpoint);
    if (!socket) {
      return socket.error();
    }
    connections_.emplace_back(std::move(socket).value(), options_.depth, options_.refill);
  }
  writing_.assign(connections_.size(), false);
  return connections_.size();
}

void ClientThread::arm(int epoll, int how, std::size_t index) {
  epoll_event event{};
  event.events = EPOLLIN | (writing_[index] ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  event.data.u64 = index;
  ::epoll_ctl(epoll, how, connections_[index].descriptor(), &event);
}

void ClientThread::settle(int epoll, std::size_t index, Connection::Status status) {
  if (status == Connection::Status::waiting) {
    if (connections_[index].wants_write() != writing_[index]) {
      writing_[index] = !writing_[index];
      arm(epoll, EPOLL_CTL_MOD, index);
    }
    return;
  }
  if (status == Connection::Status::broken && problem_.empty()) {
    problem_ = "a connection was closed by the server or its replies made no sense";
  }
  ::epoll_ctl(epoll, EPOLL_CTL_DEL, connections_[index].descriptor(), nullptr);
  --active_;
}

void ClientThread::run() {
  const Socket epoll(::epoll_create1(EPOLL_CLOEXEC));  // a Socket only for its closing
  const ConnectionContext context{wire_, source_, workload_, tally_};
  active_ = connections_.size();
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    arm(epoll.descriptor(), EPOLL_CTL_ADD, i);
    settle(epoll.descriptor(), i, connections_[i].start(context, monotonic_ns()));
  }
  std::array<epoll_event, kEventsATurn> events;
  while (active_ > 0) {
    const int ready =
        ::epoll_wait(epoll.descriptor(), events.data(), kEventsATurn, static_cast<int>(options_.silence_ms));
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      problem_ = "no reply for " + std::to_string(options_.silence_ms) + " ms";
      break;
    }
    for (int i = 0; i < ready; ++i) {
      const auto index = static_cast<std::size_t>(events[static_cast<std::size_t>(i)].data.u64);
      const std::uint64_t now_ns = monotonic_ns();
      const bool sending = options_.deadline_ns == 0 || now_ns < options_.deadline_ns;
      settle(epoll.descriptor(), index, connections_[index].turn(context, now_ns, sending));
    }
    done_.store(tally_.operations(), std::memory_order_relaxed);
  }
  for (Connection& connection : connections_) {
    connection.abandon(context, monotonic_ns());
  }
  done_.store(tally_.operations(), std::memory_order_relaxed);
}

}  // namespace mxkv::bench
