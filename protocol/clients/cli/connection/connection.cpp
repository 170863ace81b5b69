#include "protocol/clients/cli/connection/connection.hpp"

#include <poll.h>

#include <cstring>
#include <utility>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/interrupt.hpp"

namespace mxkv::cli {
namespace {

constexpr std::size_t kInputBytes = std::size_t{256} * 1024;

short events_of(Stream::Status wanted) {
  return wanted == Stream::Status::wants_write ? POLLOUT : POLLIN;
}

}  // namespace

Connection::Connection(std::unique_ptr<Stream> stream, std::string server, Milliseconds patience)
    : stream_(std::move(stream)),
      server_(std::move(server)),
      patience_(patience),
      input_(kInputBytes, '\0') {}

void Connection::lost() {
  const std::string why = stream_->trouble();
  throw Failure(
      Outcome::unreachable,
      server_ + ": " + (why.empty() ? "the server closed the connection" : "connection lost: " + why));
}

std::string_view Connection::waiting() const noexcept {
  return std::string_view(input_).substr(begin_, end_ - begin_);
}

void Connection::release() noexcept {
  begin_ += std::exchange(handed_, 0);
  if (begin_ == end_) {
    begin_ = end_ = 0;
  }
}

bool Connection::take_in() {
  if (end_ == input_.size()) {
    // No view of the buffer is in use here: the call for the next reply has already released the last one.
    if (begin_ >= input_.size() / 2) {
      std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    } else {
      input_.resize(2 * input_.size());
    }
  }
  const Stream::Transfer got = stream_->receive(input_.data() + end_, input_.size() - end_);
  if (got.status == Stream::Status::closed) {
    lost();
  }
  wanted_ = got.status == Stream::Status::moved ? Stream::Status::wants_read : got.status;
  end_ += got.bytes;
  return got.status == Stream::Status::moved;
}

void Connection::await_more() {
  while (!take_in()) {
    wait_until_ready(stream_->descriptor(), events_of(wanted_), patience_, server_);
  }
}

void Connection::send(std::string_view bytes) {
  release();
  while (!bytes.empty()) {
    check_interrupt();
    const Stream::Transfer sent = stream_->send(bytes);
    if (sent.status == Stream::Status::closed) {
      // The reason may still be on its way: "too many connections", for one.
      lost();
    }
    bytes.remove_prefix(sent.bytes);
    if (sent.status == Stream::Status::moved) {
      continue;
    }
    const short events = static_cast<short>(events_of(sent.status) | POLLIN);
    if ((wait_until_ready(stream_->descriptor(), events, patience_, server_) & POLLIN) != 0) {
      static_cast<void>(take_in());
    }
  }
}

std::string_view Connection::line() {
  release();
  for (std::size_t seen = 0;;) {
    const std::string_view all = waiting();
    const std::size_t end = all.find('\n', seen);
    if (end != std::string_view::npos) {
      handed_ = end + 1;
      const std::string_view line = all.substr(0, end);
      return line.ends_with('\r') ? line.substr(0, end - 1) : line;
    }
    seen = all.size();
    await_more();
  }
}

MetaReply Connection::reply() {
  release();
  MetaReply reply;
  for (;;) {
    handed_ = read_meta_reply(waiting(), reply);
    if (handed_ != 0) {
      return reply;
    }
    await_more();
  }
}

std::string_view Connection::data(std::size_t bytes) {
  release();
  while (waiting().size() < bytes) {
    await_more();
  }
  handed_ = bytes;
  return waiting().substr(0, bytes);
}

bool Connection::wait(Milliseconds patience) {
  release();
  if (!waiting().empty() || take_in()) {
    return true;
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    check_interrupt();
    pollfd asked{.fd = stream_->descriptor(), .events = events_of(wanted_), .revents = 0};
    const auto left = std::chrono::duration_cast<Milliseconds>(deadline - std::chrono::steady_clock::now());
    if (::poll(&asked, 1, static_cast<int>(std::min<std::int64_t>(200, left.count() + 1))) > 0 && take_in()) {
      return true;
    }
  }
  return false;
}

bool Connection::idle_and_open() {
  release();
  try {
    return waiting().empty() && !take_in();
  } catch (const Failure&) {
    return false;
  }
}

}  // namespace mxkv::cli
