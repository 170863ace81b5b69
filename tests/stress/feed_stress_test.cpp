// Watches under real threads: workers that record, park and wake up, the herald's thread, and connections that come, take
// their tidings, leave and return while the log in memory is switched on and off, or while a journal is written.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/feed/herald.hpp"
#include "server/feed/herald_thread.hpp"
#include "server/feed/journal_log.hpp"
#include "server/feed/memory_log.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/posix_disk.hpp"
#include "tests/sanitized.hpp"
#include "tests/stress/temporary_folder.hpp"
#include "tests/unit/scheduler/machine.hpp"

namespace mxkv::server {
namespace {

constexpr std::size_t kFeedWorkers = 3;
constexpr std::uint64_t kChangesOfWorker = kSanitized ? 3'000 : 20'000;

runtime::WorkerId id(std::size_t worker) {
  return runtime::WorkerId{static_cast<std::uint16_t>(worker)};
}

/// A connection with one watch of all keys. Each key is changed once: "<worker>:<number>", numbers without a hole.
class Listener {
 public:
  Listener(Herald& herald, std::size_t worker) : herald_(herald), worker_(worker) {}

  [[nodiscard]] bool is(const Watch& watch) const noexcept { return watch_.get() == &watch; }
  [[nodiscard]] bool heard_mark() const noexcept { return marks_ > 0; }
  [[nodiscard]] bool watches() const noexcept { return watch_ != nullptr; }
  void begin() {
    watch_ = std::make_shared<Watch>("w", WatchForm{}, position_, worker_);
    if (!position_) {
      next_.clear();
    }
    marks_ = 0;
    ASSERT_TRUE(herald_.add(watch_));
  }
  void leave() { herald_.remove(std::exchange(watch_, nullptr)); }
  void mark() { EXPECT_TRUE(herald_.mark(watch_, "m")); }
  void take() {
    bool herald_waits = false;
    while (watch_ != nullptr) {
      const std::optional<Tiding> tiding = watch_->take(herald_waits);
      if (!tiding) {
        break;
      }
      hear(*tiding);
    }
    if (herald_waits) {
      herald_.taken(watch_);
    }
  }
  /// The number behind the last one that it heard of from a worker; 0: it heard of none.
  [[nodiscard]] std::uint64_t next_of(std::size_t worker) const {
    const auto found = next_.find(std::to_string(worker));
    return found == next_.end() ? 0 : found->second;
  }

 private:
  void hear(const Tiding& tiding) {
    if (tiding.is == Tiding::what::over) {
      position_.reset();
      watch_ = nullptr;
      return;
    }
    for (std::string_view left = tiding.frame != nullptr ? tiding.frame->lines() : std::string_view{};
         !left.empty();) {
      const std::string_view line = left.substr(0, left.find("\r\n"));
      left.remove_prefix(line.size() + 2);
      const std::size_t colon = line.find(':');
      const std::string worker{line.substr(4, colon - 4)};
      const std::uint64_t number = std::stoull(std::string{line.substr(colon + 1)});
      const auto [next, first] = next_.try_emplace(worker, number);
      EXPECT_LE(number, next->second) << "a change is missing";
      next->second = std::max(next->second, number + 1);
    }
    if (tiding.marks) {
      position_ = tiding.position;
    }
    marks_ += tiding.asked ? 1 : 0;
  }

  Herald& herald_;
  const std::size_t worker_;
  WatchRef watch_;
  std::optional<Position> position_;
  std::map<std::string, std::uint64_t> next_;
  int marks_ = 0;
};

/// Calls into the threads around a log.
struct Wakers {
  std::function<void()> herald;
  std::function<void(std::size_t)> worker;
};

/// The log of a server without a directory.
struct LogInMemory {
  LogInMemory(const std::vector<void*>& workers, index::CommitPoint<std::string_view>& commits,
              const runtime::Clock& clock, const Wakers& wake)
      : log(workers, commits, clock, nullptr,
            {.tag = 1, .ring_bytes = std::size_t{64} << 10U, .linger_ns = 500'000, .epoch_ns = 50'000},
            {.wake = wake.herald, .wake_worker = wake.worker}) {}

  void begin_round(runtime::WorkerId worker) { log.begin_round(worker); }
  void end_round(runtime::WorkerId worker) { log.end_round(worker); }
  void park(runtime::WorkerId worker) { log.park(worker); }

  MemoryLog log;
  RingSource live{log};
  RingSource past{log};
};

/// A journal on the file system, with small segments.
struct LogOnDisk {
  LogOnDisk(const std::vector<void*>& workers, index::CommitPoint<std::string_view>& commits,
            const runtime::Clock& of, const Wakers& wake)
      : clock(of),
        disk(std::move(PosixDisk::open_directory(folder.path).value())),
        journal(make_journal(workers.size())),
        recorder(buffers_for(workers), record_times::steady),
        log(journal->epochs(), {.need = [this](std::uint64_t epoch) { journal->need(epoch); },
                                .tag_is_kept = [] { return true; },
                                .wake = wake.herald}) {
    commits.listen(&recorder);
    journal->start();
  }
  ~LogOnDisk() { journal.reset(); }  // first, because its thread calls the log
  LogOnDisk(const LogOnDisk&) = delete;
  LogOnDisk& operator=(const LogOnDisk&) = delete;

  void begin_round(runtime::WorkerId worker) {
    static_cast<void>(journal->begin_round(worker, clock.steady_us()));
  }
  void end_round(runtime::WorkerId worker) { journal->end_round(worker); }
  void park(runtime::WorkerId worker) { journal->park(worker); }

  std::unique_ptr<Journal> make_journal(std::size_t workers) {
    EXPECT_EQ(disk->create_directory(kJournalDirectory), 0);
    JournalOptions options;
    options.workers = workers;
    options.segments.segment_bytes = 256 << 10;
    options.writer.mode.sync = config::sync_mode::never;
    auto made = std::make_unique<Journal>(*disk, clock, options,
                                          WriterHooks{.greatest_order = [] { return std::uint64_t{0}; },
                                                      .on_change = [this] { log.changed(); }});
    EXPECT_EQ(made->open(), "");
    return made;
  }
  std::vector<RecordBuffer*> buffers_for(const std::vector<void*>& workers) {
    std::vector<RecordBuffer*> buffers;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      buffers.push_back(&journal->buffer(id(i)));
      buffers.back()->set_context(workers[i]);
    }
    return buffers;
  }
  TailOptions options() {
    Manifest manifest;
    manifest.lineage.begin(1, 1);
    return tail_options(manifest, journal->epochs());
  }

  const runtime::Clock& clock;
  TemporaryFolder folder;
  std::unique_ptr<PosixDisk> disk;
  std::unique_ptr<Journal> journal;
  StoreJournal recorder;
  JournalLog log;
  JournalTail live{*disk, options()};
  JournalTail past{*disk, options()};
};

/// Workers, connections and a herald around a log.
template <class Log>
struct Watched {
  struct Bell {
    std::mutex mutex;
    std::condition_variable bell;
    bool rung = false;
  };

  void wake(std::size_t worker) {
    {
      const std::scoped_lock lock{bells[worker].mutex};
      bells[worker].rung = true;
    }
    bells[worker].bell.notify_one();
  }
  void sleep(std::size_t worker) {
    log.park(id(worker));
    std::unique_lock lock{bells[worker].mutex};
    bells[worker].bell.wait_for(lock, std::chrono::milliseconds{1}, [&] { return bells[worker].rung; });
    bells[worker].rung = false;
  }
  void round(std::size_t worker, Listener& listener, std::uint64_t changes) {
    log.begin_round(id(worker));
    for (const WatchRef& watch : herald.take_news(worker)) {
      if (listener.is(*watch)) {
        listener.take();
      }
    }
    for (; changes > 0; --changes) {
      const std::uint64_t number = numbers[worker].load(std::memory_order_relaxed);
      commits.pass({.change = index::Change::gone(index::cause::deleted, number + 1),
                    .key = std::to_string(worker) + ":" + std::to_string(number)},
                   machine[worker]);
      numbers[worker].store(number + 1, std::memory_order_relaxed);
    }
    log.end_round(id(worker));
  }
  void work(std::size_t worker) {
    std::mt19937_64 random{worker};
    Listener listener{herald, worker};
    for (std::uint64_t turn = 0; turn < kChangesOfWorker; ++turn) {
      round(worker, listener, random() % 4);
      if (!listener.watches()) {
        if (random() % 50 == 0) {
          listener.begin();
        }
      } else if (random() % 500 == 0) {
        listener.leave();
      }
      if (random() % 20 == 0) {
        sleep(worker);
      }
    }
    ended.fetch_add(1);
    // All workers have recorded their last change. Each listener hears of all of them up to its mark.
    while (ended.load() < kFeedWorkers) {
      round(worker, listener, 0);
      sleep(worker);
    }
    if (!listener.watches()) {
      listener.begin();
    }
    listener.mark();
    while (!listener.heard_mark()) {
      round(worker, listener, 0);
      sleep(worker);
      if (!listener.watches()) {  // it ended as old
        listener.begin();
        listener.mark();
      }
    }
    for (std::size_t other = 0; other < kFeedWorkers; ++other) {
      if (listener.next_of(other) != 0) {
        EXPECT_EQ(listener.next_of(other), numbers[other].load());
      }
    }
    listener.leave();
    finished.fetch_add(1);
    while (finished.load() < kFeedWorkers) {
      round(worker, listener, 0);
      sleep(worker);
    }
  }

  runtime::testing::Machine machine{runtime::testing::unpinned(kFeedWorkers)};
  runtime::SystemClock clock;
  index::CommitPoint<std::string_view> commits;
  std::array<Bell, kFeedWorkers> bells;
  std::array<std::atomic<std::uint64_t>, kFeedWorkers> numbers{};
  std::atomic<std::size_t> ended{0};
  std::atomic<std::size_t> finished{0};
  HeraldThread thread{clock, [this](std::uint64_t now_ns) { return herald.step(now_ns); }};
  Log log{{&machine[0], &machine[1], &machine[2]},
          commits,
          clock,
          {.herald = [this] { thread.wake(); }, .worker = [this](std::size_t worker) { wake(worker); }}};
  Herald herald{
      log.log,
      log.live,
      log.past,
      clock,
      nullptr,
      {.workers = kFeedWorkers, .memory_bytes = std::size_t{32} << 10U, .mark_ns = 1'000'000},
      {.wake = [this] { thread.wake(); }, .wake_worker = [this](std::size_t worker) { wake(worker); }}};
};

template <class Log>
void watch_all() {
  Watched<Log> world;
  world.thread.start();
  std::vector<std::thread> workers;
  for (std::size_t worker = 0; worker < kFeedWorkers; ++worker) {
    workers.emplace_back([&world, worker] { world.work(worker); });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  world.thread.stop();
  static_cast<void>(world.herald.step(world.clock.monotonic_ns()));  // the last words of the connections
  EXPECT_GT(world.herald.counts().told.load(), 0U);
  EXPECT_EQ(world.herald.counts().watches.load(), 0U);
}

TEST(FeedStress, NoChangeInMemoryIsMissed) {
  watch_all<LogInMemory>();
}

TEST(FeedStress, NoChangeOfAJournalIsMissed) {
  watch_all<LogOnDisk>();
}

}  // namespace
}  // namespace mxkv::server
