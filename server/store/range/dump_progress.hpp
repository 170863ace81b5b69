// The progress of a dump of all keys (lru_crawler metadump, mgdump, stats cachedump). A session owns it and
// starts one page after the other. While a page runs, the page's task shares it: the last of the two to leave
// deletes it.
//
// The first page shows how many leaves fill a page. From then on a "page" may be several made side by side,
// as many as the session has room for.
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

/// The form of a dump's lines.
enum class dump_form : std::uint8_t {
  metadump,   ///< the data that memcached's crawler prints
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
  /// `room`: bytes for pages that are made side by side; one page is made in any case.
  void begin_page(std::size_t room) noexcept {
    MXKV_ASSERT(!running_ && !ended_, "pages of a dump follow each other, up to its end");
    running_ = true;
    pages_ = std::clamp<std::size_t>(room / page_bytes_, 1, kMostPages);
  }
  /// The session is done with the dump.
  void leave() noexcept {
    MXKV_ASSERT(!left_, "a session leaves its dump once");
    left_ = true;
    if (!running_) {
      delete this;
    }
  }

  // --- For the page's task ---
  [[nodiscard]] dump_form form() const noexcept { return form_; }
  /// Of output. A page ends above it; a page that is made beside others has at most so many bytes.
  [[nodiscard]] std::uint32_t page_bytes() const noexcept { return page_bytes_; }
  [[nodiscard]] bool full() const noexcept { return lines_left_ == 0; }
  /// The key where the dump goes on; empty: the beginning.
  [[nodiscard]] std::string_view from() const noexcept { return {from_, from_bytes_}; }
  /// Whether that key's own line was already written.
  [[nodiscard]] bool skips_from() const noexcept { return skips_from_; }
  /// A line was written.
  void count_line() noexcept {
    MXKV_DCHECK(lines_left_ > 0, "no line is written above what was asked for");
    --lines_left_;
  }
  /// All lines up to this key were written.
  void note(std::string_view key) noexcept { go_on_at(key, true); }
  /// All lines before this key were written.
  void go_on_at(std::string_view key) noexcept { go_on_at(key, false); }

  /// Pages to make at once; 1 while it is not known how many leaves fill one.
  [[nodiscard]] std::size_t pages() const noexcept {
    return leaves_a_page_ == 0 || lines_left_ <= kUnlimited / 2 ? 1 : pages_;
  }
  /// Memory of pages that are made side by side, until they have ended. Allocated at first use, one a page.
  [[nodiscard]] std::vector<std::unique_ptr<char[]>>& texts() noexcept { return texts_; }
  /// Leaves that fill about one page; 0: not known yet.
  [[nodiscard]] std::uint32_t leaves_a_page() const noexcept { return leaves_a_page_; }
  /// Learns that `leaves` leaves had `bytes` bytes of lines. A page is planned to leave some room.
  void learn(std::uint64_t bytes, std::uint64_t leaves, std::uint32_t most_leaves) noexcept {
    const std::uint64_t fit =
        leaves * (std::uint64_t{page_bytes_} / 4 * 3) / std::max<std::uint64_t>(bytes, 1);
    leaves_a_page_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, 1, most_leaves));
  }
  /// `all`: no line is left behind this page.
  void end_page(bool all) noexcept {
    MXKV_ASSERT(running_, "a page that ends has begun");
    texts_.clear();  // a client that does not read keeps no memory
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
