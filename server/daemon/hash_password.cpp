// `mxkvd hash-password`: reads a password, from a terminal without echo, and prints its hash.
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "config/users.hpp"
#include "server/daemon/commands.hpp"
#include "server/daemon/daemon.hpp"
#include "server/net/users/password.hpp"

namespace mxkv::server {

namespace {

/// Turns the terminal's echo off, for as long as this lives.
class Silence {
 public:
  Silence() : there_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (there_) {
      termios silent = before_;
      silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
      ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    }
  }
  ~Silence() {
    if (there_) {
      ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
      std::fputc('\n', stderr);
    }
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  termios before_{};
  bool there_;
};

bool read_line(const char* prompt, std::string& line) {
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  if (terminal) {
    std::fputs(prompt, stderr);
  }
  const Silence silence;
  return static_cast<bool>(std::getline(std::cin, line));
}

}  // namespace

int run_command(const HashPasswordCommand& /*command*/) {
  std::string password;
  if (!read_line("Password: ", password) || password.empty()) {
    return complain(kExitWrongOptions, "no password (allowed: one line on standard input)");
  }
  if (password.size() > config::kMostLoginBytes - 2 || password.find('\0') != std::string::npos) {
    return complain(kExitWrongOptions,
                    "the password is not valid (allowed: at most 253 bytes without a NUL)");
  }
  std::string again;
  if (::isatty(STDIN_FILENO) != 0 && (!read_line("Once more: ", again) || again != password)) {
    return complain(kExitWrongOptions, "the two passwords differ");
  }
  const std::string hash = hash_password(password);
  wipe(password);
  wipe(again);
  if (hash.empty()) {
    return complain(kExitFailed, "the system's crypt(3) cannot make a yescrypt hash");
  }
  std::printf("%s\n", hash.c_str());
  return kExitOk;
}

}  // namespace mxkv::server
