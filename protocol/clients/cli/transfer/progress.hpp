// The progress of a transfer, on standard error: a line that is drawn in place.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mxkv::cli {

/// Thread-safety: one thread.
class Progress {
 public:
  /// `shown`: show it even if standard error is not a terminal.
  explicit Progress(bool shown);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// `share` of the whole, 0 to 1; negative if unknown. Returns true about once a second, for work to be done that often.
  bool tell(std::uint64_t items, std::uint64_t bytes, double share);
  [[nodiscard]] double seconds() const;

 private:
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_;
};

/// "131MiB, 850k items/s"
[[nodiscard]] std::string transfer_text(std::uint64_t items, std::uint64_t bytes, double seconds);

}  // namespace mxkv::cli
