#include "runtime/base/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace mxkv::runtime {

void open_standard_streams() noexcept {
  // In ascending order: with all lower ones open, open() returns this one.
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) {
      continue;
    }
    if (::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor) {
      std::_Exit(EXIT_FAILURE);  // no stream is safe for an error message
    }
  }
}

}  // namespace mxkv::runtime
