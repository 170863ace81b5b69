// Moves the daemon into the background. The process that was started waits: it returns 0 once the daemon
// serves, or else the daemon's exit code. Both share standard error, where the daemon reports errors.
//
// The daemon has a session that it does not lead (so it can get no controlling terminal), the root as its
// directory, a mask that keeps other users from its files, and only the descriptors that are named.
#pragma once

#include <optional>
#include <vector>

namespace mxkv::server {

/// Thread-safety: start-up only, before any other thread.
class Background {
 public:
  /// Forks. The process that was started waits, and returns its exit code. The daemon returns nothing.
  /// `kept`: descriptors that stay open.
  [[nodiscard]] std::optional<int> enter(const std::vector<int>& kept);

  /// The daemon serves: its standard input, output and error become /dev/null. Does nothing in the
  /// foreground.
  void serves() noexcept;
  /// The daemon ends with `code` before it serves.
  void ends(int code) noexcept { report(code); }

 private:
  void report(int code) noexcept;

  int report_ = -1;  ///< pipe to the process that was started
};

}  // namespace mxkv::server
