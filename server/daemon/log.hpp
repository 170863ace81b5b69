// The daemon's log: level, form, file with rotation, and a limit on lines a second. The only place that knows
// spdlog.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "config/options.hpp"
#include "server/net/warning_sink.hpp"

namespace mxkv::server {

/// Why `file` cannot be a log, or nothing: the folder that it is in is not there. Nobody makes one for it, as
/// a wrong name would be found only where the log is looked for. Thread-safety: any thread.
[[nodiscard]] std::string lack_of_folder(const std::string& file);

/// Thread-safety: any thread.
class Log final : public WarningSink {
 public:
  /// Writes to the configured file, else to standard error. Throws std::exception if the file cannot be
  /// opened.
  explicit Log(const config::LogOptions& options);
  ~Log();

  void debug(std::string_view text);
  void info(std::string_view text);
  void warning(std::string_view text);
  void warn(const std::string& text) override { warning(text); }
  void error(std::string_view text);
  void trace(std::string_view text);
  void tell_debug(const std::string& text) override { debug(text); }
  void tell_trace(const std::string& text) override { trace(text); }

  /// Takes over all of it, and opens the file anew, as it may have been renamed. If it cannot be opened, the old
  /// one is kept. Returns why, or nothing.
  [[nodiscard]] std::string reopen(const config::LogOptions& options);

  /// Why lines could not go where `options` say, or nothing: tried, and left as it was. A file may be there then.
  [[nodiscard]] static std::string lack_of(const config::LogOptions& options);

  /// 0: the configured level; 1: debug, 2 and more: trace, where that is more. Until the log is opened anew.
  void set_verbosity(std::uint64_t level);

  /// Whether lines were left out and nobody was told yet; then tell_of_dropped() is to be called within a second or
  /// so. It says how many.
  [[nodiscard]] bool owes_note() const;
  void tell_of_dropped();

 private:
  void note_level();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mxkv::server
