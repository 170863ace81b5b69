// Events that the log reports while the server runs. Workers count them; another thread writes the lines. The
// first event wakes that thread; later ones do not, until it has looked. So an event that happens a million
// times a second costs one count each time, and gives one log line a second.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace mxkv::server {

enum class happening : std::uint8_t {
  wrong_login,
  forbidden,             ///< a request, to a user who is logged in
  too_many_connections,  ///< a connection was refused
  too_many_of_client,    ///< a connection was refused: its address has as many as it may
  closed_unread,         ///< a connection, since its client read no replies
  closed_idle,           ///< by the idle time-out
  foreign_protocol,      ///< a connection used another protocol, and was closed
  failed_handshake,      ///< of TLS
  endless_line,          ///< a connection was closed: its line was too long
  evicted,               ///< an item
  no_memory,             ///< a write was refused
  flushed,               ///< flush_all
  slow,                  ///< a request, see SlowLog
};
inline constexpr std::size_t kHappenings = static_cast<std::size_t>(happening::slow) + 1;

/// Wakes the thread that reads Happenings. Thread-safety: any thread.
class HappeningBell {
 public:
  HappeningBell() = default;
  HappeningBell(const HappeningBell&) = delete;
  HappeningBell& operator=(const HappeningBell&) = delete;

  virtual void ring() noexcept = 0;

 protected:
  ~HappeningBell() = default;
};

/// Whom or what an event was about. Lines in JSON have each part that is not empty as a member of its own.
struct Subject {
  std::string client{};       ///< as `stats conns` names it, or another node
  std::string text{};         ///< what people read behind the client
  std::string user{};         ///< as it was given: perhaps there is none of this name
  std::string command{};      ///< as `stats commands` names it
  std::uint64_t took_ns = 0;  ///< of a slow request

  [[nodiscard]] std::string about() const { return client + text; }
};

/// Thread-safety: any thread.
class Happenings {
 public:
  struct Seen {
    std::uint64_t times = 0;
    Subject subject;  ///< of the first time
  };

  /// The bell outlives all events.
  void set_bell(HappeningBell& bell) noexcept { bell_.store(&bell, std::memory_order_release); }

  void note(happening what) noexcept {
    counts_[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
    // Pairs with the exchange in take(): if note() finds it rung, the take() that stops the ringing sees the
    // count.
    if (!rung_.load(std::memory_order_relaxed) && !rung_.exchange(true, std::memory_order_acq_rel)) {
      if (HappeningBell* const bell = bell_.load(std::memory_order_acquire); bell != nullptr) {
        bell->ring();
      }
    }
  }
  /// Keeps `subject` for the log, if it is the first since take().
  void note(happening what, Subject subject) {
    {
      const std::scoped_lock lock{mutex_};
      std::optional<Subject>& kept = subjects_[static_cast<std::size_t>(what)];
      if (!kept) {
        kept = std::move(subject);
      }
    }
    note(what);
  }

  /// The events since the last call. Events from now on ring again.
  [[nodiscard]] std::array<Seen, kHappenings> take() {
    rung_.exchange(false, std::memory_order_acq_rel);
    std::array<Seen, kHappenings> seen;
    const std::scoped_lock lock{mutex_};
    for (std::size_t i = 0; i < kHappenings; ++i) {
      const std::uint64_t count = counts_[i].load(std::memory_order_relaxed);
      seen[i] = {.times = count - std::exchange(taken_[i], count),
                 .subject = std::exchange(subjects_[i], std::nullopt).value_or(Subject{})};
    }
    return seen;
  }
  [[nodiscard]] bool rung() const noexcept { return rung_.load(std::memory_order_relaxed); }

 private:
  std::atomic<HappeningBell*> bell_{nullptr};  // pairs with the release in set_bell()
  std::atomic<bool> rung_{false};
  std::array<std::atomic<std::uint64_t>, kHappenings> counts_{};  // relaxed: statistics
  std::mutex mutex_;                                              ///< guards the rest
  std::array<std::uint64_t, kHappenings> taken_{};
  std::array<std::optional<Subject>, kHappenings> subjects_{};
};

}  // namespace mxkv::server
