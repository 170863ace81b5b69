// What all commands have in common: how to reach the server, and how to print.
//
// It dials at the first command that needs the server, logs in, and dials again where the connection is gone. A
// request whose fate is unknown is never repeated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/clients/cli/connection/connection.hpp"
#include "protocol/clients/cli/connection/endpoint.hpp"

namespace mxkv::cli {

struct Settings {
  std::string server = "127.0.0.1:11211";
  TlsOptions tls{};
  std::string user{};
  std::string password_file{};
  double connect_seconds = 5;
  double seconds = 30;  ///< without a byte from the server
  bool json = false;
  bool escaped = false;  ///< arguments hold escapes as in double quotes
};

/// Thread-safety: one thread.
class Session {
 public:
  explicit Session(Settings settings);

  /// Connected, logged in, and owed nothing. Throws Failure: unreachable, login.
  [[nodiscard]] Connection& connection();
  /// Another one of its own, for what fills a connection for long.
  [[nodiscard]] std::unique_ptr<Connection> another();
  /// What is on the wire belongs to nobody any more: the next command dials again.
  void hang_up() noexcept { connection_.reset(); }

  /// Sends a line and hands out the one that answers it.
  [[nodiscard]] std::string ask(const std::string& line);

  [[nodiscard]] bool json() const noexcept { return settings_.json; }
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  /// A key or value as it was written on the command line.
  [[nodiscard]] std::string argument(const std::string& text) const;

  // To standard output. All throw Failure (Outcome::file) where it takes no more.

  /// Lines, and one line. What a terminal would obey, such as an escape sequence in a key, is always escaped.
  void print(std::string_view text);
  void print_line(std::string_view text);
  /// A value as it is; on a terminal escaped, except for line ends and tabs.
  void print_bytes(std::string_view bytes);
  /// Standard output is a terminal.
  void clear_terminal();
  void flush();
  /// Asks on the terminal. False: no, or there is no terminal.
  [[nodiscard]] bool confirmed(const std::string& question);

 private:
  [[nodiscard]] const std::string& password();

  Settings settings_;
  Endpoint endpoint_;
  std::unique_ptr<Connection> connection_;
  std::optional<std::string> password_;
};

}  // namespace mxkv::cli
