#include "server/cluster/engine_lines.hpp"

namespace mxkv::server {

void EngineLines::say(bool grave, std::string line, std::uint64_t now_ns) {
  const std::scoped_lock lock{mutex_};
  if (lines_ == 0 || now_ns >= while_ns_ + kWhileNs) {
    while_ns_ = now_ns;
    lines_ = 0;
  }
  if (++lines_ > kMostLines) {
    ++left_out_;
    return;
  }
  if (const std::size_t left_out = std::exchange(left_out_, 0); left_out != 0) {
    line += " (" + std::to_string(left_out) + " lines before it were left out)";
  }
  if (write_) {
    write_(grave, line);
  } else {
    kept_.emplace_back(grave,
                       std::move(line));  // few: the library writes no more before there is a log
    if (kept_.size() > kMostLines) {
      kept_.erase(kept_.begin());
    }
  }
}

void EngineLines::write_to(Write write) {
  const std::scoped_lock lock{mutex_};
  write_ = std::move(write);
  if (write_) {
    for (const auto& [grave, line] : std::exchange(kept_, {})) {
      write_(grave, line);
    }
  }
}

}  // namespace mxkv::server
