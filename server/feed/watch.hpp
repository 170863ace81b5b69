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

/// What a connection has to write. Plain.
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
};

/// Thread-safety: given per member.
class Watch {
 public:
  Watch(std::string name, WatchForm form, std::optional<Position> from, std::size_t worker)
      : name_(std::move(name)), form_(std::move(form)), from_(from), worker_(worker) {}
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

  /// Adds a tiding. Returns whether the worker must hear that this watch has some.
  [[nodiscard]] bool add(Tiding&& tiding) {
    const std::scoped_lock lock{mutex_};
    bytes_ += bytes_of(tiding);
    tidings_.push_back(std::move(tiding));
    return !std::exchange(listed_, true);
  }
  /// Bytes of lines that the connection has not taken.
  [[nodiscard]] std::size_t bytes() const {
    const std::scoped_lock lock{mutex_};
    return bytes_;
  }
  /// Takes back all epochs but the first, of those up to `told`. Returns the last epoch that the remaining tidings tell as a whole. Marks that the client asked for go to `marks`,
  /// the latest first.
  [[nodiscard]] std::uint64_t take_back(std::uint64_t told, std::vector<std::string>& marks);
  /// Whether the connection has taken all. If not, the worker says so once it has: see take().
  [[nodiscard]] bool all_taken_or_tell() {
    const std::scoped_lock lock{mutex_};
    herald_waits_ = !tidings_.empty();
    return !herald_waits_;
  }

  /// The herald's notes.
  struct Desk {
    Channel* channel = nullptr;  ///< null: it has not begun, or is over
    bool live = false;           ///< gets what the channel gets; else it is behind
    std::uint64_t told = 0;      ///< of a watch that is behind: the last epoch that was added as a whole
    std::uint64_t marked = 0;    ///< the last epoch of a mark
    bool over = false;
  };
  Desk herald;

  // -- the connection's worker

  /// The next tiding; nothing: there is none, and the worker will hear of the next one. `herald_waits`: the herald
  /// has to be woken, because it waits for the connection to take all.
  [[nodiscard]] std::optional<Tiding> take(bool& herald_waits) {
    const std::scoped_lock lock{mutex_};
    herald_waits = tidings_.empty() && std::exchange(herald_waits_, false);
    if (tidings_.empty()) {
      listed_ = false;
      return std::nullopt;
    }
    Tiding taken = std::move(tidings_.front());
    tidings_.pop_front();
    bytes_ -= bytes_of(taken);
    return taken;
  }
  /// Its connection; null: it left. The worker's own.
  void* connection = nullptr;

 private:
  [[nodiscard]] static std::size_t bytes_of(const Tiding& tiding) noexcept {
    return tiding.frame != nullptr ? tiding.frame->lines().size() : 0;
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
