// Where net/ sends lines for the log: the seam between net/ and the daemon, which has the log.
#pragma once

#include <string>

namespace mxkv::server {

/// Thread-safety: any thread.
class WarningSink {
 public:
  WarningSink() = default;
  WarningSink(const WarningSink&) = delete;
  WarningSink& operator=(const WarningSink&) = delete;

  virtual void warn(const std::string& text) = 0;

 protected:
  ~WarningSink() = default;
};

}  // namespace mxkv::server
