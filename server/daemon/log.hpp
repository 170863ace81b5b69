// The daemon's log. The only place that knows spdlog.
#pragma once

#include <memory>
#include <string_view>

#include "config/options.hpp"

namespace mxkv::server {

/// Thread-safety: any thread.
class Log {
 public:
  /// Writes to the configured file, else to standard error. Throws std::runtime_error if the file cannot be
  /// opened.
  explicit Log(const config::LogOptions& options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void info(std::string_view text);
  void warning(std::string_view text);
  void error(std::string_view text);

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
};

}  // namespace mxkv::server
