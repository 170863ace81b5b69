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
// *Slow connections.* All that clients have not read has a limit, half of it for watches that are live. Above it those with
// the most bytes are taken out of their channels and are *behind*: each keeps a cursor alone, also within an epoch. When the
// connection of such a watch has room, the herald reads the log for it, a part at a time, and puts it back when it has
// caught up. Where the log has no more: the watch ends as `old`.
//
// The other half is for watches that are behind. Those whose turn comes while it is full wait; after a while lines that
// others have not taken are taken back, so that clients that do not read hold up nobody.
//
// The herald waits for no other thread; a log on disk may let it wait for the disk. One thread calls step()
// (herald_thread.hpp); the simulation calls it between other steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
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
#include "server/feed/share_of_limit.hpp"
#include "server/feed/watch.hpp"
#include "server/feed/watch_index.hpp"

namespace mxkv::server {

struct HeraldOptions {
  std::size_t workers = 1;
  std::size_t most_watches = 10'000;
  std::size_t memory_bytes = std::size_t{16}
                             << 20U;  ///< of all that clients have not read; see share_of_limit.hpp
  std::size_t value_bytes = std::size_t{64} << 10U;  ///< larger values are not told
  std::uint64_t mark_ns = 1'000'000'000;             ///< between the marks of a watch without lines
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
  bool has_many = false;            ///< more hits than the herald keeps: its watches fall behind
  std::uint64_t done = 0;           ///< the last epoch whose lines they all got
  std::uint32_t lines = 0;          ///< of the epoch under way: lines that they got
};

/// An epoch as the herald sorts it.
struct RankedEpoch {
  ChangeEpoch epoch;
  std::vector<std::uint64_t> ranks;  ///< the place of each record; empty: not made yet
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
  [[nodiscard]] const HeraldCounts& counts() const noexcept { return counts_; }
  /// Bytes that clients have not read.
  [[nodiscard]] std::size_t unread_bytes() const noexcept { return share_.bytes(); }
  [[nodiscard]] std::size_t unread_bytes(held by) const noexcept { return share_.bytes(by); }

  // -- the worker of the watch

  static constexpr std::size_t kMostMarks = 64;  ///< of a watch, asked for and not read

  /// Asks for a mark behind every change that took effect before this call. False: the client has not read the marks that
  /// it asked for before. It may always ask for one.
  [[nodiscard]] bool mark(WatchRef watch, std::string opaque);
  /// The connection has room, and the herald waits for that.
  void taken(WatchRef watch) { send({.is = Letter::what::taken, .watch = std::move(watch)}); }

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
    enum class what : std::uint8_t { add, remove, mark, taken };
    what is = what::add;
    WatchRef watch{};
    std::uint64_t target = 0;  ///< add: the epoch that must have been read before
    AskedMark mark{};
  };
  struct Served {
    WatchRef watch;
    std::uint64_t at_ns = 0;
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
  void become_hungry(const WatchRef& watch);
  void fall_behind(const WatchRef& watch);
  void leave_live(const WatchRef& watch);
  void tell_live(std::uint64_t now_us);
  void dispatch(std::uint64_t now_us);
  void find_hits();
  void tell(Channel& channel, std::uint64_t now_us);
  void end_all();
  static void rank(RankedEpoch& ranked);
  static void sort(RankedEpoch& ranked, std::vector<std::uint32_t>& hits);
  void build_index();
  [[nodiscard]] FrameRef encode(const WatchForm& form, const RankedEpoch& of,
                                const std::vector<std::uint32_t>& hits, std::uint32_t from, held by,
                                std::uint64_t now_us);
  void give(const WatchRef& watch, Tiding&& tiding);
  [[nodiscard]] std::uint64_t serve_behind(std::uint64_t now_ns, std::uint64_t now_us);
  [[nodiscard]] std::size_t read_for(const WatchRef& watch, std::uint64_t now_ns, std::uint64_t now_us);
  [[nodiscard]] ChangeSource::outcome read_behind(std::uint64_t epoch);
  [[nodiscard]] const std::vector<std::uint32_t>& past_hits(const Channel& channel);
  void serve(const WatchRef& watch, FrameRef frame, std::uint64_t now_ns);
  void take_back(const WatchRef& watch);
  [[nodiscard]] bool make_room(std::uint64_t now_ns);
  void give_marks(std::uint64_t now_ns);
  void give_asked_marks(const WatchRef& watch);
  void shed();
  void tell_workers();
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return within_share(options_.memory_bytes, budget_);
  }
  [[nodiscard]] std::size_t half_bytes() const noexcept { return memory_bytes() / 2; }
  [[nodiscard]] bool has_room_behind() const noexcept { return share_.bytes(held::behind) < half_bytes(); }

  FeedSwitch& log_;
  ChangeSource& live_;
  ChangeSource& past_;
  const runtime::Clock& clock_;
  runtime::MemoryBudget* const budget_;
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
  std::size_t behind_ = 0;
  std::vector<WatchRef> asking_;  ///< that have not begun, or are live, and wait for marks
  std::deque<WatchRef> hungry_;   ///< behind, with a connection that has room
  std::deque<Served> served_;     ///< that got lines while they were behind, the earliest first
  RankedEpoch now_;
  std::vector<Channel*> touched_;
  std::string lines_;  ///< of the frame under way
  // The last epoch read for watches that are behind. Valid within one step.
  RankedEpoch past_epoch_;
  std::uint64_t past_behind_ =
      FeedSwitch::kNever;  ///< past_epoch_ is the next one behind this; kNever: nothing was read
  const Channel* past_channel_ = nullptr;  ///< past_hits_ are of this one
  std::vector<std::uint32_t> past_hits_;
  std::vector<std::uint8_t> woken_;  ///< by worker: it has news of this step
};

}  // namespace mxkv::server
