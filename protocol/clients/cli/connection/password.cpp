#include "protocol/clients/cli/connection/password.hpp"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/interrupt.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {
namespace {

std::string first_line_of(const std::string& file) {
  std::ifstream input(file);
  std::string line;
  if (!input || !std::getline(input, line)) {
    throw Failure(Outcome::file, "--password-file: " + file + ": cannot be read, or is empty");
  }
  if (line.ends_with('\r')) {
    line.pop_back();
  }
  return std::string(runtime::without_byte_order_mark(line));
}

/// Turns the terminal's echo off until it is destroyed.
class SilentTerminal {
 public:
  SilentTerminal() : terminal_(::open("/dev/tty", O_RDWR | O_CLOEXEC)) {
    if (terminal_ >= 0 && ::tcgetattr(terminal_, &before_) == 0) {
      termios silent = before_;
      silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
      ::tcsetattr(terminal_, TCSAFLUSH, &silent);
    }
  }
  SilentTerminal(const SilentTerminal&) = delete;
  SilentTerminal& operator=(const SilentTerminal&) = delete;
  ~SilentTerminal() {
    if (terminal_ >= 0) {
      ::tcsetattr(terminal_, TCSAFLUSH, &before_);
      ::close(terminal_);
    }
  }

  [[nodiscard]] bool there() const noexcept { return terminal_ >= 0; }

  std::string ask(const std::string& question) const {
    show(question);
    std::string line;
    for (char byte = 0; byte != '\n';) {
      const ssize_t got = ::read(terminal_, &byte, 1);
      if (got <= 0) {
        show("\n");
        check_interrupt();
        throw Failure(Outcome::login, "no password was given");
      }
      if (byte != '\n') {
        line += byte;
      }
    }
    show("\n");
    return line;
  }

 private:
  void show(const std::string& text) const {
    if (::write(terminal_, text.data(), text.size()) < 0) {
      throw Failure(Outcome::login, "the terminal: " + std::generic_category().message(errno));
    }
  }

  int terminal_;
  termios before_{};
};

}  // namespace

std::string find_password(const std::string& file, const std::string& user, const std::string& server) {
  if (!file.empty()) {
    return first_line_of(file);
  }
  if (const char* const given = std::getenv("MXKV_PASSWORD"); given != nullptr) {
    return given;
  }
  const SilentTerminal terminal;
  if (!terminal.there()) {
    throw Failure(Outcome::login,
                  "no password for " + user +
                      ": give --password-file or MXKV_PASSWORD, because there is no terminal to ask on");
  }
  return terminal.ask("Password of " + user + " at " + server + ": ");
}

}  // namespace mxkv::cli
