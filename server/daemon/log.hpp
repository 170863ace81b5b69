// The daemon's log: level, format, file with rotation, and a limit on lines a second. The only user of
// spdlog.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "config/options.hpp"
#include "server/daemon/log_text.hpp"
#include "server/net/observe/warning_sink.hpp"

namespace mxkv::server {

/// Why `file` cannot be a log: its folder does not exist; empty: it does. No folder is made for a log: a
/// wrong name would only be noticed where the log is looked for. Thread-safety: any thread.
[[nodiscard]] std::string lack_of_folder(const std::string& file);

/// Thread-safety: any thread.
class Log final : public WarningSink {
 public:
  /// Writes to the configured file, or else to standard error. Throws std::exception if the file cannot be
  /// opened.
  explicit Log(const config::LogOptions& options);
  ~Log();

  void debug(std::string_view text);
  void info(std::string_view text);
  void warning(std::string_view text);
  void warn(const std::string& text) override { warning(text); }
  void error(std::string_view text);
  void write(config::log_level level, std::string_view text, const LogEvent& event);
  void trace(std::string_view text);
  void tell_debug(const std::string& text) override { debug(text); }
  void tell_trace(const std::string& text) override { trace(text); }

  /// Takes over all `options`, and reopens the file, which may have been renamed. If that fails, the old file
  /// is kept. Returns the error; empty: none.
  [[nodiscard]] std::string reopen(const config::LogOptions& options);

  /// Why lines could not be written by `options`; empty: they could. Tries it, which may create the file.
  [[nodiscard]] static std::string lack_of(const config::LogOptions& options);

  /// 0: the configured level; 1: debug, 2 and more: trace; but never less than configured. Until the log is
  /// reopened.
  void set_verbosity(std::uint64_t level);

  /// Whether lines were left out and the log does not say so yet. Then tell_of_dropped(), which logs how
  /// many, has to be called within about a second.
  [[nodiscard]] bool owes_note() const;
  void tell_of_dropped();

 private:
  void note_level();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mxkv::server
