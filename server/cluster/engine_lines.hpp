// Passes log lines of the engine's library on to the daemon's log.
//
// The library's threads write them, the first ones before there is a log, and hundreds when brokers are away.
// So a few lines are kept until the log exists, and only a few are written per interval, with a count of the
// others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mxkv::server {

/// Thread-safety: any thread.
class EngineLines {
 public:
  using Write = std::function<void(bool grave, const std::string& line)>;
  static constexpr std::size_t kMostLines = 5;
  static constexpr std::uint64_t kWhileNs = 10'000'000'000;  ///< the interval for kMostLines lines

  /// `now_ns`: of any clock that only grows. `grave`: a warning; else information.
  void say(bool grave, std::string line, std::uint64_t now_ns);
  /// Sets the destination of lines, the kept ones first; empty: keeps lines. When this returns, the previous
  /// destination writes no line any more.
  void write_to(Write write);

 private:
  std::mutex mutex_;  ///< guards all members
  Write write_;
  std::vector<std::pair<bool, std::string>> kept_;
  std::uint64_t while_ns_ = 0;  ///< when the present interval began
  std::size_t lines_ = 0;       ///< in that interval
  std::size_t left_out_ = 0;
};

}  // namespace mxkv::server
