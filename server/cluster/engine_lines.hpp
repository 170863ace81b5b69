// Lines of the engine's library on their way to the daemon's log.
//
// They come by threads of the library, from before there is a log, and by the hundred where brokers are away: so a few
// lines are kept until somebody takes them, and only so many are written in a while, with a count of the others.
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
  static constexpr std::uint64_t kWhileNs = 10'000'000'000;  ///< in which they may come

  /// `now_ns`: of any clock that only grows. `grave`: a warning, else something to know.
  void say(bool grave, std::string line, std::uint64_t now_ns);
  /// Where lines go from now on, those that were kept first; empty: they are kept. No line is being written by the one
  /// before when this returns.
  void write_to(Write write);

 private:
  std::mutex mutex_;  ///< of all
  Write write_;
  std::vector<std::pair<bool, std::string>> kept_;
  std::uint64_t while_ns_ = 0;  ///< when the present one began
  std::size_t lines_ = 0;       ///< in it
  std::size_t left_out_ = 0;
};

}  // namespace mxkv::server
