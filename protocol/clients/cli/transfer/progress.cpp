#include "protocol/clients/cli/transfer/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "protocol/clients/cli/text/amounts.hpp"

namespace mxkv::cli {

Progress::Progress(bool shown)
    : shown_(shown || ::isatty(STDERR_FILENO) != 0),
      begin_(std::chrono::steady_clock::now()),
      last_(begin_) {}

Progress::~Progress() {
  if (drawn_) {
    std::fputs("\r\x1b[K", stderr);
  }
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

bool Progress::tell(std::uint64_t items, std::uint64_t bytes, double share) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::seconds(1)) {
    return false;
  }
  last_ = now;
  if (shown_) {
    std::string text =
        count_text(static_cast<double>(items)) + " items, " + transfer_text(items, bytes, seconds());
    if (share > 0) {
      const double known = std::min(share, 1.0);
      text += ", " + std::to_string(static_cast<int>(100 * known)) + " %, " +
              seconds_text(seconds() * (1 - known) / known) + " to go";
    }
    std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
    std::fflush(stderr);
    drawn_ = true;
  }
  return true;
}

std::string transfer_text(std::uint64_t items, std::uint64_t bytes, double seconds) {
  return bytes_text(static_cast<double>(bytes)) + ", " +
         count_text(static_cast<double>(items) / std::max(seconds, 1e-6)) + " items/s";
}

}  // namespace mxkv::cli
