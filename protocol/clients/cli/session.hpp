// The common base of all commands: the connection to the server, and the output.
//
// A session connects and logs in at the first command that needs the server, and connects again if the
// connection was lost. A request whose outcome is unknown is never repeated.
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

  /// A connection that is logged in and has no outstanding replies. Throws Failure: unreachable, login.
  [[nodiscard]] Connection& connection();
  /// A further connection, for a command that occupies one for long.
  [[nodiscard]] std::unique_ptr<Connection> another();
  /// Closes the connection, because its outstanding replies are useless. The next command connects again.
  void hang_up() noexcept { connection_.reset(); }

  /// Sends a line and returns the line that answers it.
  [[nodiscard]] std::string ask(const std::string& line);

  [[nodiscard]] bool json() const noexcept { return settings_.json; }
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  /// A key or value of the command line, with escapes replaced if --escaped is given.
  [[nodiscard]] std::string argument(const std::string& text) const;

  // Functions that write to standard output. They throw Failure (Outcome::file) if it cannot be written.

  /// Print lines, or one line. Bytes that a terminal would obey, such as an escape sequence in a key, are
  /// escaped.
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
