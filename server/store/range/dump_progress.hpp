// How far a dump of all keys has come (lru_crawler metadump, mgdump, stats cachedump). A session owns it and
// starts one page after the other; while a page runs it belongs to the page's task as well: who leaves last
// deletes it.
//
// The first page tells how many leaves make one. From then on a page may be as many of these, made side by side, as
// the session has room for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

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
  static constexpr std::uint32_t kPageBytes = std::uint32_t{64} << 10U;
  static constexpr std::size_t kMostPages = 8;  ///< side by side

  explicit DumpProgress(dump_form form, std::uint64_t most_lines = std::numeric_limits<std::uint64_t>::max(),
                        std::uint32_t page_bytes = kPageBytes) noexcept
      : lines_left_(most_lines), page_bytes_(page_bytes), form_(form) {}

  // --- For the session ---
  [[nodiscard]] bool running() const noexcept { return running_; }
  [[nodiscard]] bool ended() const noexcept { return ended_ && !running_; }
  /// `room`: for so many bytes, as far as more than one page is made at once.
  void begin_page(std::size_t room) noexcept {
    MXKV_ASSERT(!running_ && !ended_, "pages of a dump follow each other, up to its end");
    running_ = true;
    pages_ = std::clamp<std::size_t>(room / page_bytes_, 1, kMostPages);
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
  /// Of output; a page ends above it, and one that is made beside others has no more.
  [[nodiscard]] std::uint32_t page_bytes() const noexcept { return page_bytes_; }
  [[nodiscard]] bool full() const noexcept { return lines_left_ == 0; }
  /// Where it goes on; empty: from the beginning.
  [[nodiscard]] std::string_view from() const noexcept { return {from_, from_bytes_}; }
  /// Whether that key itself was written.
  [[nodiscard]] bool skips_from() const noexcept { return skips_from_; }
  /// A line was written.
  void count_line() noexcept {
    MXKV_DCHECK(lines_left_ > 0, "no line is written above what was asked for");
    --lines_left_;
  }
  /// All up to this key was written.
  void note(std::string_view key) noexcept { go_on_at(key, true); }
  /// All before this key was written.
  void go_on_at(std::string_view key) noexcept { go_on_at(key, false); }

  /// Pages that the next one may be; 1 where it is not known yet how long one is.
  [[nodiscard]] std::size_t pages() const noexcept {
    return leaves_a_page_ == 0 || lines_left_ <= kUnlimited / 2 ? 1 : pages_;
  }
  /// Room for pages that are made side by side, until they have ended. One a page, once it was used.
  [[nodiscard]] std::vector<std::unique_ptr<char[]>>& texts() noexcept { return texts_; }
  /// Leaves that make about one page; 0: not known yet.
  [[nodiscard]] std::uint32_t leaves_a_page() const noexcept { return leaves_a_page_; }
  /// So many leaves had so many bytes of lines. A page is to have room for some more than that.
  void learn(std::uint64_t bytes, std::uint64_t leaves, std::uint32_t most_leaves) noexcept {
    const std::uint64_t fit =
        leaves * (std::uint64_t{page_bytes_} / 4 * 3) / std::max<std::uint64_t>(bytes, 1);
    leaves_a_page_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, 1, most_leaves));
  }
  /// `all`: there is nothing behind this page.
  void end_page(bool all) noexcept {
    MXKV_ASSERT(running_, "a page that ends has begun");
    texts_.clear();  // a client that does not read keeps none
    running_ = false;
    ended_ = all;
    if (left_) {
      delete this;
    }
  }

 private:
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  ~DumpProgress() = default;
  void go_on_at(std::string_view key, bool skips) noexcept {
    MXKV_DCHECK(key.size() <= sizeof from_, "a key fits");
    std::memcpy(from_, key.data(), key.size());
    from_bytes_ = static_cast<std::uint8_t>(key.size());
    skips_from_ = skips;
  }

  std::uint64_t lines_left_;
  std::uint32_t page_bytes_;
  std::size_t pages_ = 1;
  std::vector<std::unique_ptr<char[]>> texts_;
  std::uint32_t leaves_a_page_ = 0;
  dump_form form_;
  bool running_ = false;
  bool ended_ = false;
  bool left_ = false;
  bool skips_from_ = false;
  std::uint8_t from_bytes_ = 0;
  char from_[index::kMaxKeyBytes];
};

}  // namespace mxkv::server
