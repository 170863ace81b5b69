#include "server/cluster/cluster_node.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "runtime/base/assert.hpp"
#include "server/cluster/record_body.hpp"

namespace mxkv::server {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kTickNs = 50 * kNsPerMs;
constexpr std::uint64_t kPresenceNs = 1000 * kNsPerMs;
constexpr std::uint64_t kPresencePauseNs = 200 * kNsPerMs;          ///< at least, between two words
constexpr std::uint64_t kMostApplying = std::uint64_t{128} << 20U;  ///< bytes; above this no log is read

std::uint64_t number_of_process() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U | random()) | 1U;
}

}  // namespace

std::optional<ClusterMap> read_board(Board& board, BoardReader& reader, int patience_ms, std::string& why) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{patience_ms};
  while (!reader.is_caught_up() && std::chrono::steady_clock::now() < end) {
    board.poll(100);
  }
  if (!reader.is_caught_up()) {
    const std::string last = board.last_error();
    why = "the brokers do not answer" + (last.empty() ? std::string{} : ": " + last);
    return std::nullopt;
  }
  if (reader.map() == nullptr) {
    why = reader.complaint().empty() ? "it has no map: mxkvd cluster init makes one" : reader.complaint();
    return std::nullopt;
  }
  return *reader.map();
}

ClusterNode::ClusterNode(NodeOptions options, ClusterMap map, LogEngine& engine, Board& board,
                         BoardReader& reader, runtime::Runtime& runtime, Store& store, Routes& routes,
                         NodeLines lines)
    : options_(std::move(options)),
      map_(std::move(map)),
      engine_(engine),
      board_(board),
      reader_(reader),
      runtime_(runtime),
      store_(store),
      routes_(routes),
      lines_(std::move(lines)),
      process_(number_of_process()),
      pipeline_(
          runtime.worker_count(), routes, runtime.clock(), &runtime.budget(),
          {.wake = [this] { ring(); },
           .submit =
               [this](std::uint32_t shard, std::uint64_t epoch, const std::string& body) {
                 const auto hosted = hosted_.find(shard);
                 return hosted != hosted_.end() && hosted->second->submit(epoch, body);
               },
           .strayed = [this](std::uint32_t shard) { strayed_.push_back(shard); }},
          {.most_waiting = options_.most_waiting, .wake = [this](std::size_t worker) { wake_(worker); }},
          options_.deadline_ns),
      memory_(
          runtime, store, [this] { ring(); }, &routes),
      around_{
          .routes = routes,
          .pipeline = pipeline_,
          .memory = memory_,
          .clock = runtime.clock(),
          .address_of = [this](std::uint64_t process) { return address_of(process); },
          .lives = [this](std::uint64_t process, std::uint32_t shard) { return lives(process, shard); },
          .keep_expired = [this] { store_.hold_expired(1); },
          .newest_snapshot = [this](std::uint32_t shard) { return reader_.snapshot(shard); },
          .items_of = [this](std::string_view from, std::string_view to) -> std::unique_ptr<SnapshotSource> {
            return std::make_unique<StoreItems>(store_, from, to, ending_);
          },
          .tell_snapshot =
              [this](std::uint32_t shard, const SnapshotEntry& entry, Board::Done done) {
                board_.put(snapshot_key(shard), write_snapshot_entry(entry), std::move(done));
              },
          .info = lines_.info,
          .warn = lines_.warn} {
  std::vector<RecordBuffer*> buffers;
  for (std::size_t i = 0; i < runtime.worker_count(); ++i) {
    const runtime::WorkerId id{static_cast<std::uint16_t>(i)};
    pipeline_.buffer(id).set_context(&runtime.worker(id));
    buffers.push_back(&pipeline_.buffer(id));
  }
  journal_ = std::make_unique<StoreJournal>(std::move(buffers), record_times::wall);
  feed_ = std::make_unique<ShardFeed>(*journal_);
  store_.tree().commits().listen(feed_.get());
  routes_.changes().set_hooks({.asked =
                                   [this] {
                                     for (std::size_t i = 0; i < runtime_.worker_count(); ++i) {
                                       wake_(i);
                                     }
                                   },
                               .ended = [this] { ring(); }});
  host_shards();
  store_.hold_expired(1);
  show(runtime.clock().monotonic_ns());
}

ClusterNode::~ClusterNode() {
  stopping_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) {
    engine_.wake();
    thread_.join();
  }
  store_.tree().commits().listen(nullptr);
}

void ClusterNode::start(std::function<void(std::size_t)> wake) {
  MXKV_ASSERT(!thread_.joinable(), "a node is started once");
  wake_ = std::move(wake);
  started_ns_ = runtime_.clock().monotonic_ns();
  thread_ = std::thread([this] { run(); });
}

// One wake-up serves all news until the thread looks at them.
void ClusterNode::ring() noexcept {
  if (!news_.exchange(true, std::memory_order_acq_rel)) {
    engine_.wake();
  }
}

void ClusterNode::run() {
  pthread_setname_np(pthread_self(), "mxkv-cluster");
  while (!stopping_.load(std::memory_order_relaxed)) {
    const std::uint64_t now_ns = runtime_.clock().monotonic_ns();
    const int wait_ms = now_ns >= tick_ns_ ? 0 : static_cast<int>((tick_ns_ - now_ns) / kNsPerMs + 1);
    // Answers to appends still arrive when reads are held: the shards owned here wait for them, and so do
    // their leases.
    reads_ = !memory_.is_behind(kMostApplying);
    engine_.hold_reads(!reads_);
    engine_.poll(wait_ms);
    news_.exchange(false, std::memory_order_acq_rel);
    turn();
  }
}

void ClusterNode::turn() {
  while (pipeline_.step()) {
  }
  for (const std::uint32_t shard : std::exchange(strayed_, {})) {
    if (const auto hosted = hosted_.find(shard); hosted != hosted_.end()) {
      hosted->second->strayed();
    } else {
      memory_.drop(shard, routes_.begin_of(shard), routes_.end_of(shard));
      strayed_drops_.emplace_back(shard, memory_.begun(shard));
    }
  }
  std::erase_if(strayed_drops_, [this](const auto& drop) {
    const bool done = memory_.finished(drop.first) >= drop.second;
    if (done) {
      pipeline_.found_clean();
    }
    return done;
  });
  const std::uint64_t now_ns = runtime_.clock().monotonic_ns();
  const bool ticks = now_ns >= tick_ns_;
  for (auto& [id, shard] : hosted_) {
    if (ticks) {
      shard->tick(reads_);
    }
    shard->settle();
  }
  if (ticks) {
    tick_ns_ = now_ns + kTickNs;
    tick(now_ns);
  }
}

void ClusterNode::tick(std::uint64_t now_ns) {
  board_.poll(0);
  ending_.look();
  read_news(now_ns);
  follow_map(now_ns);
  leave_surplus(now_ns);
  drop_surplus();
  // Measure the neighbours' silence against the last word on the board, not against now: if no word arrives,
  // not even this node's own, the board is unreachable and the neighbours may be alive.
  route_others(board_ns_);
  take_snapshots(now_ns);
  note_settled(now_ns);
  hold_expired(now_ns);
  // Announce newly served shards soon: their former owner may be gone, and then it cannot say where they are. A
  // word names all shards, so a node that gets many, one after the other, does not say so for each.
  if (std::vector<std::uint32_t> served = served_now();
      now_ns >= presence_ns_ || (served != told_served_ && now_ns >= told_presence_ns_ + kPresencePauseNs)) {
    presence_ns_ = now_ns + kPresenceNs;
    told_presence_ns_ = now_ns;
    told_served_ = std::move(served);
    tell_presence();
  }
  look_at_copies(now_ns);
  tell_outages(now_ns);
  note_completeness(now_ns);
  show(now_ns);
  // Behind show(): once a thread sees that nothing is handed over any more, status() says why.
  hands_over_.store(leaving_, std::memory_order_release);
}

void ClusterNode::read_news(std::uint64_t now_ns) {
  // A late answer of the board can leave an older entry there. Put up the newest one again, because a new
  // node begins with the last entry.
  for (const std::uint32_t shard : reader_.take_outdated()) {
    if (const std::optional<SnapshotEntry> entry = reader_.snapshot(shard);
        entry && hosted_.contains(shard)) {
      board_.put(snapshot_key(shard), write_snapshot_entry(*entry), {});
    }
  }
  for (const auto& [name, text, position] : reader_.take_presences()) {
    if (std::optional<Presence> presence = parse_presence(text)) {
      board_ns_ = now_ns;
      if (name != options_.name) {
        const std::uint64_t known_ns = words_.known_ns(*presence);
        neighbours_[name] = {.presence = *std::move(presence), .heard_ns = now_ns, .known_ns = known_ns};
      } else if (presence->process == process_) {
        words_.add(position, presence->said_ns);
      } else if (presence->process != process_ &&
                 std::exchange(told_twin_, presence->process) != presence->process) {
        lines_.warn("cluster: another process is node " + name + ", too, at " + presence->peer +
                    ": each takes the other's shards; one of them needs another cluster.node");
      }
    } else {
      reader_.leave_out(presence_key(name) + ": is not a node's status");
    }
  }
  if (const std::uint64_t more = reader_.left_out() - std::exchange(told_left_out_, reader_.left_out());
      more != 0) {
    lines_.warn("cluster " + options_.cluster + ": ignored records on the metadata topic: " +
                reader_.complaint() + (more == 1 ? "" : ", and " + std::to_string(more - 1) + " more"));
  }
  if (const ClusterMap* const map = reader_.map(); map != nullptr && map->version != map_.version) {
    take_map(*map);
  }
}

void ClusterNode::hand_over(int patience_ms) {
  handing_over_.store(true, std::memory_order_relaxed);
  const runtime::Clock& clock = runtime_.clock();
  const std::uint64_t end_ns = clock.monotonic_ns() + static_cast<std::uint64_t>(patience_ms) * 1'000'000;
  while (open_shards_.load(std::memory_order_relaxed) != 0 && hands_over_.load(std::memory_order_acquire) &&
         clock.monotonic_ns() < end_ns) {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  if (const std::uint32_t left = open_shards_.load(std::memory_order_relaxed); left != 0) {
    const std::string why = status().not_left;
    lines_.warn("cluster: " + std::to_string(left) + (left == 1 ? " shard was" : " shards were") +
                " not handed over to another node" + (why.empty() ? std::string{} : ": " + why) +
                "; they are unavailable until their lease has run out");
  }
}

void ClusterNode::finish() {
  for (std::size_t i = 0; i < runtime_.worker_count(); ++i) {
    pipeline_.park(runtime::WorkerId{static_cast<std::uint16_t>(i)});
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{3};
  const CommitEpochs& epochs = pipeline_.epochs();
  while (epochs.last_recorded() > epochs.durable() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  stopping_.store(true, std::memory_order_relaxed);
  engine_.wake();
  if (thread_.joinable()) {
    thread_.join();
  }
  MXKV_ASSERT(!thread_.joinable(), "the thread that owns the shards has ended before they go");
  hosted_.clear();
  ending_.drop(runtime_.worker(runtime::WorkerId{0}));
  if (epochs.last_recorded() > epochs.durable()) {
    lines_.warn("cluster: the logs have not acknowledged all writes");
  }
}

}  // namespace mxkv::server
