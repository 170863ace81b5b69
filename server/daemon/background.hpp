// Going into the background. The process that was started waits until the daemon serves and returns 0, or
// returns the daemon's exit code; the daemon says what is wrong on the standard error that both share.
//
// The daemon has a session of its own which it does not lead (so no terminal can become its), the root as
// its directory, a mask that keeps others out of its files, and no descriptors but those that are named.
#pragma once

#include <optional>
#include <vector>

namespace mxkv::server {

/// Thread-safety: start-up only, before any other thread.
class Background {
 public:
  /// Forks. In the process that was started: waits, and returns its exit code. In the daemon: nothing.
  /// `kept` are descriptors that stay open.
  [[nodiscard]] std::optional<int> enter(const std::vector<int>& kept);

  /// In the daemon: it serves. Standard input, output and error become /dev/null. Does nothing in the
  /// foreground.
  void serves() noexcept;
  /// In the daemon: it ends with `code` before it served.
  void ends(int code) noexcept { report(code); }

 private:
  void report(int code) noexcept;

  int report_ = -1;  ///< the pipe to the process that was started
};

}  // namespace mxkv::server
