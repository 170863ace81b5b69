// How far a dump of all keys has come (lru_crawler metadump, mgdump, stats cachedump). A session owns it and
// starts one page after the other; while a page runs it belongs to the page's task as well: who leaves last
// deletes it.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "index/key.hpp"
#include "runtime/base/assert.hpp"

namespace mxkv::server {

/// What a line of a dump looks like.
enum class dump_form : std::uint8_t {
  metadump,   ///< what memcached's crawler tells of an item
  mgdump,     ///< an mg command
  cachedump,  ///< ITEM <key> [<bytes> b; <time of expiry> s]; binary keys are left out
};

/// Thread-safety: owner worker only.
class DumpProgress {
 public:
  explicit DumpProgress(dump_form form,
                        std::uint64_t most_lines = std::numeric_limits<std::uint64_t>::max()) noexcept
      : lines_left_(most_lines), form_(form) {}

  // --- For the session ---
  [[nodiscard]] bool running() const noexcept { return running_; }
  [[nodiscard]] bool ended() const noexcept { return ended_ && !running_; }
  void begin_page() noexcept {
    MXKV_ASSERT(!running_ && !ended_, "pages of a dump follow each other, up to its end");
    running_ = true;
  }
  /// The session does not need it any more.
  void leave() noexcept {
    MXKV_ASSERT(!left_, "a session leaves its dump once");
    left_ = true;
    if (!running_) {
      delete this;
    }
  }

  // --- For the page's task ---
  [[nodiscard]] dump_form form() const noexcept { return form_; }
  [[nodiscard]] bool full() const noexcept { return lines_left_ == 0; }
  /// The key that was written last; empty: none yet.
  [[nodiscard]] std::string_view last() const noexcept { return {last_, last_bytes_}; }
  /// A line was written for this key.
  void note(std::string_view key) noexcept {
    MXKV_DCHECK(lines_left_ > 0, "no line is written above what was asked for");
    MXKV_DCHECK(key.size() <= sizeof last_, "a key fits");
    --lines_left_;
    std::memcpy(last_, key.data(), key.size());
    last_bytes_ = static_cast<std::uint8_t>(key.size());
  }
  /// `all`: there is nothing behind this page.
  void end_page(bool all) noexcept {
    MXKV_ASSERT(running_, "a page that ends has begun");
    running_ = false;
    ended_ = all;
    if (left_) {
      delete this;
    }
  }

 private:
  ~DumpProgress() = default;

  std::uint64_t lines_left_;
  dump_form form_;
  bool running_ = false;
  bool ended_ = false;
  bool left_ = false;
  std::uint8_t last_bytes_ = 0;
  char last_[index::kMaxKeyBytes];
};

}  // namespace mxkv::server
