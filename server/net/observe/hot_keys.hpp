// The hottest keys and ranges of a sample of requests: the space-saving sketch of Metwally et al. A key that
// is not in the sketch replaces the rarest one, and takes that one's count as its error: it may have come
// that often before, or never. Every key in more than 1 of kMost sampled requests is in the sketch. A sketch
// covers a window of time; the previous window is kept.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request.hpp"

namespace mxkv::server {

/// Thread-safety: any thread. The owner adds, rarely; others read, very rarely.
class HotKeys {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::uint64_t kWindowNs = 30'000'000'000;

  enum class what : std::uint8_t {
    key,
    range,  ///< named by its prefix, or by its first bound
  };
  struct Count {
    what kind = what::key;
    std::string key;
    std::uint64_t samples = 0;  ///< an upper bound; at least `samples - error` were seen
    std::uint64_t error = 0;
  };

  void add(what kind, std::string_view key, std::uint64_t now_ns);
  /// The counts of this window and the one before, in no order, each key at most once.
  [[nodiscard]] std::vector<Count> counts(std::uint64_t now_ns) const;
  void clear();

 private:
  struct Slot {
    std::uint64_t samples = 0;
    std::uint64_t error = 0;
    std::uint32_t hash = 0;
    what kind = what::key;
    std::uint8_t bytes = 0;
    std::array<char, protocol::kMaxKeyBytes> key;

    [[nodiscard]] std::string_view text() const noexcept { return {key.data(), bytes}; }
  };
  struct Window {
    std::uint64_t begun_ns = 0;
    std::array<Slot, kMost> slots{};
  };

  [[nodiscard]] static bool is_past(const Window& window, std::uint64_t windows,
                                    std::uint64_t now_ns) noexcept {
    return now_ns >= window.begun_ns + windows * kWindowNs;
  }

  mutable std::mutex mutex_;  ///< guards all
  std::array<Window, 2> windows_{};
  std::size_t current_ = 0;
};

}  // namespace mxkv::server
