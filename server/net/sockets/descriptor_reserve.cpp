#include "server/net/sockets/descriptor_reserve.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace mxkv::server {

DescriptorReserve::~DescriptorReserve() {
  for (const int descriptor : kept_) {
    ::close(descriptor);
  }
}

void DescriptorReserve::refill() noexcept {
  while (kept_.size() < most_) {
    const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      return;
    }
    kept_.push_back(descriptor);
  }
}

int DescriptorReserve::accept(int listener) noexcept {
  if (kept_.empty()) {
    errno = EMFILE;
    return -1;
  }
  ::close(kept_.back());
  kept_.pop_back();
  return ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

}  // namespace mxkv::server
