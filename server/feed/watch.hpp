// One watch: what the herald hands to a connection, in order. The herald adds at one end, the worker of the connection
// takes at the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "server/feed/change_source.hpp"
#include "server/feed/frame.hpp"
#include "server/feed/watch_form.hpp"

namespace mxkv::server {

struct Channel;

/// How a watch, or the attempt to begin one, ends.
enum class watch_end : std::uint8_t { none, old, lost, too_many };

/// How far a watch has come: it has all epochs up to `epoch`, and of the next one that has some, its first `lines` lines.
struct FeedCursor {
  std::uint64_t epoch = 0;
  std::uint32_t lines = 0;

  friend bool operator==(const FeedCursor&, const FeedCursor&) = default;
};

/// What a connection has to write.
struct Tiding {
  enum class what : std::uint8_t {
    begun,  ///< the watch has begun behind `position`
    lines,  ///< a section: the frame's lines, if there is a frame, and a mark
    over    ///< the watch is over, or never began, because of `end`
  };
  what is = what::lines;
  watch_end end = watch_end::none;
  bool marks = false;  ///< lines: the client then has all changes up to `position`
  Position position{};
  FrameRef frame{};
  std::string opaque{};  ///< lines: of the request for this mark; empty: nobody asked
  bool asked = false;    ///< lines: the client asked for this mark
  FrameCharge charge{};  ///< for its place in the queue
};

/// A mark that a client asked for.
struct AskedMark {
  std::string opaque;
  std::uint64_t target = 0;  ///< the watch must have all up to this epoch before
  FrameCharge charge;
};

/// Thread-safety: given per member.
class Watch {
 public:
  Watch(std::string name, WatchForm form, std::optional<Position> from, std::size_t worker)
      : name_(std::move(name)), form_(std::move(form)), from_(std::move(from)), worker_(worker) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // -- any thread

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const WatchForm& form() const noexcept { return form_; }
  /// Where it goes on; nothing: from now on.
  [[nodiscard]] const std::optional<Position>& from() const noexcept { return from_; }
  /// The worker of its connection.
  [[nodiscard]] std::size_t worker() const noexcept { return worker_; }

  // -- the herald's thread

  /// Adds a tiding. A mark that nobody asked for moves an unread mark before it on. Returns whether the worker must hear
  /// that this watch has tidings.
  [[nodiscard]] bool add(Tiding&& tiding);
  /// Bytes that the connection has not taken.
  [[nodiscard]] std::size_t bytes() const {
    const std::scoped_lock lock{mutex_};
    return bytes_;
  }
  /// Takes back all lines and marks that the connection has not taken. Returns how far the watch has come then; it had come
  /// to `at`. Marks that the client asked for go to the front of `marks`.
  [[nodiscard]] FeedCursor take_back(const FeedCursor& at, std::deque<AskedMark>& marks);
  /// Whether the connection has room and nothing to write. If not, the worker says so once it has: see take().
  [[nodiscard]] bool wants_more_or_tells() {
    const std::scoped_lock lock{mutex_};
    herald_waits_ = listed_;
    return !listed_;
  }

  /// The herald's notes.
  struct Desk {
    Channel* channel = nullptr;  ///< null: it has not begun, or is over
    bool live = false;           ///< gets what the channel gets; else it is behind
    std::size_t at = 0;          ///< live: its place in the channel
    FeedCursor cursor;           ///< behind: how far it has come
    std::uint64_t marked = 0;    ///< the last epoch of a mark
    bool over = false;
    std::deque<AskedMark> marks;  ///< not given yet
    bool asks = false;            ///< in Herald::asking_
    bool hungry = false;          ///< in Herald::hungry_
    bool served = false;          ///< in Herald::served_
    std::uint64_t served_ns = 0;  ///< when it last got lines while it was behind
  };
  Desk herald;

  // -- the connection's worker

  /// The next tiding; nothing: there is none, and the worker will hear of the next one. `herald_waits`: the herald
  /// has to hear that the connection has room.
  [[nodiscard]] std::optional<Tiding> take(bool& herald_waits);
  /// Marks that the client asked for and has not got. The worker's own.
  std::size_t asked = 0;
  /// Its connection; null: it left. The worker's own.
  void* connection = nullptr;

 private:
  [[nodiscard]] static std::size_t bytes_of(const Tiding& tiding) noexcept {
    return tiding.charge.bytes() + (tiding.frame != nullptr ? tiding.frame->bytes() : 0);
  }

  const std::string name_;
  const WatchForm form_;
  const std::optional<Position> from_;
  const std::size_t worker_;

  mutable std::mutex mutex_;  ///< guards the rest
  std::deque<Tiding> tidings_;
  std::size_t bytes_ = 0;
  bool herald_waits_ = false;
  bool listed_ = false;  ///< the worker knows that there are tidings
};

using WatchRef = std::shared_ptr<Watch>;

}  // namespace mxkv::server
