// The herald tells watches of changes. It reads the log epoch by epoch, finds the watches of each change, and hands
// lines to their connections.
//
//   source ─> epoch ─> WatchIndex ─> channels: watches of one form ─> frames ─> watches ─> workers
//
// *Channels.* Each change is written once for all watches of one form. They share the frames.
//
// *Order.* Orders of one key grow, so the hits of an epoch are sorted by order. A batch stands where its least order is:
// each order in it is above all earlier orders of all its keys (Batch::decide), so this keeps the order of every key.
//
// *Completeness.* A watch that is live at epoch e gets exactly e + 1 next. Watches begin, fall behind and catch up between
// epochs only. One thread adds lines and marks, so a mark never overtakes a line.
//
// *From now on* is the last epoch that was read, once it has all that was recorded when the client asked. A change
// that takes effect after the answer has a greater label. The epoch that is current would be wrong: changes still get
// its label.
//
// *Slow connections.* All frames together have a limit. Above it the watch with the most bytes is taken out of its
// channel and is *behind*: the herald reads the log for it alone, a part at a time, once its connection has taken all,
// and puts it back when it has caught up. Where the log has no more: the watch ends as `old`.
//
// The herald waits for no other thread; a log on disk may let it wait for the disk. One thread calls step()
// (herald_thread.hpp); the simulation calls it between other steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/cache_line.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/memory/memory_budget.hpp"
#include "server/feed/change_source.hpp"
#include "server/feed/feed_switch.hpp"
#include "server/feed/frame.hpp"
#include "server/feed/herald_counts.hpp"
#include "server/feed/watch.hpp"
#include "server/feed/watch_index.hpp"

namespace mxkv::server {

struct HeraldOptions {
  std::size_t workers = 1;
  std::size_t most_watches = 10'000;
  std::size_t memory_bytes = std::size_t{16} << 20U;  ///< of all frames
  std::size_t value_bytes = std::size_t{64} << 10U;   ///< larger values are not told
  std::uint64_t mark_ns = 1'000'000'000;              ///< between the marks of a watch without lines
};

struct HeraldHooks {
  std::function<void()> wake = [] {};  ///< step() has something to do; any thread
  /// The worker has news: take_news(). The herald's thread.
  std::function<void(std::size_t worker)> wake_worker = [](std::size_t /*worker*/) {};
};

/// Watches of one form.
struct Channel {
  explicit Channel(const WatchForm& of) : form(of) {}
  const WatchForm form;
  std::vector<WatchRef> live;
  std::size_t watches = 0;          ///< all of them, also those that are behind
  std::vector<std::uint32_t> hits;  ///< of the epoch under way
};

/// Thread-safety: given per function.
class Herald {
 public:
  /// All arguments outlive this. `live` and `past` read the same log.
  Herald(FeedSwitch& log, ChangeSource& live, ChangeSource& past, const runtime::Clock& clock,
         runtime::MemoryBudget* budget, const HeraldOptions& options, HeraldHooks hooks);
  Herald(const Herald&) = delete;
  Herald& operator=(const Herald&) = delete;

  // -- any thread

  /// Begins a watch; its first tiding says how that went. False: there are too many.
  [[nodiscard]] bool add(WatchRef watch);
  /// Its connection takes nothing more.
  void remove(WatchRef watch);
  /// Asks for a mark behind every change that took effect before this call.
  void mark(WatchRef watch, std::string opaque);
  /// A connection has taken all, and the herald waits for that.
  void taken() { hooks_.wake(); }
  [[nodiscard]] const HeraldCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return share_.bytes(); }

  // -- worker `worker`

  [[nodiscard]] bool has_news(std::size_t worker) const noexcept {
    return news_[worker].any.load(std::memory_order_relaxed);
  }
  /// Watches that have tidings.
  [[nodiscard]] std::vector<WatchRef> take_news(std::size_t worker);

  // -- the herald's thread

  /// Does what there is to do. Returns the time of the next call; the greatest number: when woken.
  std::uint64_t step(std::uint64_t now_ns);

 private:
  struct Letter {
    enum class what : std::uint8_t { add, remove, mark };
    what is = what::add;
    WatchRef watch{};
    std::string opaque{};
    std::uint64_t target = 0;  ///< the epoch that must have been read before
  };
  struct alignas(2 * runtime::kCacheLineBytes) News {
    std::atomic<bool> any{false};  // relaxed: the waker orders; a worker that sees it late is woken
    std::mutex mutex;              ///< guards `watches`
    std::vector<WatchRef> watches;
  };

  void send(Letter letter);
  void take_letters();
  void begin_waiting();
  void begin(const WatchRef& watch);
  void detach(const WatchRef& watch);
  void end(const WatchRef& watch, watch_end why, const Position& oldest);
  void become_live(const WatchRef& watch);
  void fall_behind(const WatchRef& watch);
  void leave_live(const WatchRef& watch);
  void tell_live(std::uint64_t now_us);
  void dispatch(std::uint64_t now_us);
  void end_all();
  void rank();
  void build_index();
  [[nodiscard]] std::vector<FrameRef> encode(const WatchForm& form, std::vector<std::uint32_t>& hits,
                                             std::uint64_t now_us);
  void deliver(const WatchRef& watch, const std::vector<FrameRef>& frames);
  void give(const WatchRef& watch, Tiding&& tiding);
  [[nodiscard]] bool serve_behind(std::uint64_t now_us);
  [[nodiscard]] bool read_for(const WatchRef& watch, std::uint64_t now_us);
  void give_marks(std::uint64_t now_ns);
  [[nodiscard]] bool shed();
  void tell_workers();

  FeedSwitch& log_;
  ChangeSource& live_;
  ChangeSource& past_;
  const runtime::Clock& clock_;
  const HeraldOptions options_;
  const HeraldHooks hooks_;
  HeraldCounts counts_;
  FrameShare share_;
  std::vector<News> news_;

  std::mutex letters_mutex_;  ///< guards letters_
  std::vector<Letter> letters_;

  // The herald's.
  bool on_ = false;
  std::uint64_t told_ = 0;  ///< the last epoch whose lines live watches have
  std::uint64_t next_mark_ns_ = 0;
  std::map<WatchForm, std::unique_ptr<Channel>> channels_;
  WatchIndex index_;
  bool index_is_old_ = false;
  std::vector<Channel*> indexed_;
  std::vector<Letter> beginning_;
  std::vector<WatchRef> behind_;
  std::vector<Letter> marks_;
  ChangeEpoch epoch_;
  std::vector<std::uint64_t> ranks_;
  std::vector<Channel*> touched_;
  std::vector<std::uint8_t> woken_;  ///< by worker: it has news of this step
};

}  // namespace mxkv::server
