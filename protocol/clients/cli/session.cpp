#include "protocol/clients/cli/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "protocol/clients/cli/connection/password.hpp"
#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/interrupt.hpp"
#include "protocol/clients/cli/text/quoting.hpp"
#include "protocol/command_table.hpp"
#include "runtime/base/readable.hpp"

namespace mxkv::cli {
namespace {

/// The reader of a pipe that has seen enough, such as head, is no failure to tell.
[[noreturn]] void fail_to_print() {
  if (errno == EPIPE) {
    end_by_closed_pipe();
  }
  throw Failure(Outcome::file, "standard output: " + std::generic_category().message(errno));
}

void write_out(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    fail_to_print();
  }
}

Milliseconds from_seconds(double seconds) {
  constexpr double kMost = 1e9;  // 31 years: as milliseconds it fits the integer
  return Milliseconds(static_cast<std::int64_t>(std::min(seconds, kMost) * 1000));
}

}  // namespace

Session::Session(Settings settings)
    : settings_(std::move(settings)), endpoint_(endpoint_of(settings_.server)) {}

const std::string& Session::password() {
  if (!password_) {
    password_ = find_password(settings_.password_file, settings_.user, text_of(endpoint_));
  }
  return *password_;
}

std::unique_ptr<Connection> Session::another() {
  // Ask for the password before connecting, so that no connection is held while the user types.
  const std::string login = settings_.user.empty() ? "" : settings_.user + ' ' + password();
  auto stream = dial(endpoint_, settings_.tls, from_seconds(settings_.connect_seconds));
  auto connection =
      std::make_unique<Connection>(std::move(stream), text_of(endpoint_), from_seconds(settings_.seconds));
  if (!login.empty()) {
    connection->send(std::string(protocol::name_of(protocol::verb::set)) + " login 0 0 " +
                     std::to_string(login.size()) + "\r\n" + login + "\r\n");
    const std::string_view answer = connection->line();
    if (answer != "STORED") {
      password_.reset();
      throw Failure(Outcome::login, "cannot log in as " + settings_.user + ": " + std::string(answer));
    }
  }
  return connection;
}

Connection& Session::connection() {
  if (connection_ != nullptr && !connection_->idle_and_open()) {
    connection_.reset();
  }
  if (connection_ == nullptr) {
    connection_ = another();
  }
  return *connection_;
}

std::string Session::ask(const std::string& line) {
  Connection& server = connection();
  server.send(line + "\r\n");
  return std::string(server.line());
}

std::string Session::argument(const std::string& text) const {
  return settings_.escaped ? unescape(text) : text;
}

void Session::print(std::string_view text) {
  write_out(runtime::readable(text, "\n"));
}

void Session::print_line(std::string_view text) {
  write_out(runtime::readable(text) + '\n');
}

void Session::print_bytes(std::string_view bytes) {
  write_out(::isatty(STDOUT_FILENO) != 0 ? runtime::readable(bytes, "\n\t") : std::string(bytes));
}

void Session::clear_terminal() {
  write_out("\x1b[H\x1b[2J");
}

void Session::flush() {
  if (std::fflush(stdout) != 0) {
    fail_to_print();
  }
}

bool Session::confirmed(const std::string& question) {
  if (::isatty(STDIN_FILENO) == 0) {
    return false;
  }
  flush();
  std::fputs((runtime::readable(question) + " [y/N] ").c_str(), stderr);
  std::fflush(stderr);
  std::string answer;
  for (int byte = std::getchar(); byte != EOF && byte != '\n'; byte = std::getchar()) {
    answer += static_cast<char>(byte);
  }
  std::clearerr(stdin);
  return answer == "y" || answer == "yes";
}

}  // namespace mxkv::cli
