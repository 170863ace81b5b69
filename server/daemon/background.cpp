#include "server/daemon/background.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/daemon/daemon.hpp"

namespace mxkv::server {

namespace {

constexpr mode_t kMask = 027;  // files: no access for others, read access for the group

int failed(std::string_view what) {
  const std::string why = std::strerror(errno);
  return complain(kExitFailed, (std::string{what} + ": " + why).c_str());
}

/// The exit code that the daemon reported; without a report it died.
int wait_for_report(int pipe) {
  unsigned char code = 0;
  ssize_t bytes = 0;
  do {
    bytes = read(pipe, &code, 1);
  } while (bytes < 0 && errno == EINTR);
  close(pipe);
  return bytes == 1 ? code : complain(kExitFailed, "the daemon died before it was ready");
}

/// Closes all descriptors from 3 on except `kept`.
void close_others(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned first = STDERR_FILENO + 1;
  for (const int descriptor : kept) {
    const auto end = static_cast<unsigned>(descriptor);
    MXKV_ASSERT(descriptor > STDERR_FILENO, "the standard streams are never closed");
    if (end > first) {
      close_range(first, end - 1, 0);
    }
    first = std::max(first, end + 1);
  }
  close_range(first, ~0U, 0);
}

}  // namespace

std::optional<int> Background::enter(const std::vector<int>& kept) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
    return failed("pipe");
  }
  std::fflush(nullptr);
  pid_t child = fork();
  if (child < 0) {
    return failed("fork");
  }
  if (child > 0) {
    close(pipe[1]);
    const int code = wait_for_report(pipe[0]);
    waitpid(child, nullptr, 0);
    return code;
  }
  close(pipe[0]);
  setsid();
  child = fork();  // the daemon must not lead its session
  if (child != 0) {
    if (child < 0) {
      const auto code = static_cast<unsigned char>(failed("fork"));
      [[maybe_unused]] const auto bytes = write(pipe[1], &code, 1);
    }
    _exit(kExitOk);
  }
  MXKV_ASSERT(report_ < 0, "a daemon goes into the background once");
  report_ = pipe[1];
  umask(kMask);
  std::vector<int> open = kept;
  open.push_back(report_);
  close_others(std::move(open));
  if (chdir("/") != 0) {
    const int code = failed("chdir /");
    report(code);
    return code;
  }
  return std::nullopt;
}

void Background::serves() noexcept {
  if (report_ < 0) {
    return;
  }
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null >= 0) {
      dup2(null, standard);
    }
  }
  if (null > STDERR_FILENO) {
    close(null);
  }
  report(kExitOk);
}

void Background::report(int code) noexcept {
  if (report_ >= 0) {
    const auto byte = static_cast<unsigned char>(code);
    [[maybe_unused]] const auto bytes = write(report_, &byte, 1);  // SIGPIPE is ignored
    close(std::exchange(report_, -1));
  }
}

}  // namespace mxkv::server
