#include "tests/simulation/shards_process.hpp"

#include <algorithm>
#include <utility>

#include "tests/simulation/cluster_common.hpp"

namespace mxkv::simulation {

using server::HostedShard;
using server::SnapshotEntry;

ShardsProcess::ShardsProcess(const Place& place, std::uint64_t node, std::uint64_t margin_permille)
    : place_(place),
      node_(node),
      routes_(place.splits),
      pipeline_(kWorkers, routes_, place.clock, nullptr,
                {.wake = [this] { ring(); },
                 .submit = [this](std::uint32_t shard, std::uint64_t epoch,
                                  const std::string& body) { return shards_[shard]->submit(epoch, body); },
                 .strayed = [this](std::uint32_t shard) { strayed_.push_back(shard); },
                 .changed =
                     [this] {
                       for (const auto& worker : workers_) {
                         worker->wake();
                       }
                     }}),
      memory_(
          [this](Timeline::Action action) {
            const std::uint64_t now_ns = place_.timeline.now_ns();
            const std::uint64_t most_ns = place_.dice.permille(20) ? 300 * kMs : 3 * kMs;
            applied_ns_ = std::max(applied_ns_, now_ns + place_.dice.below(most_ns));
            place_.timeline.in(applied_ns_ - now_ns,
                               [this, action = std::move(action)] { applier_.run(action); });
          },
          [this] { ring(); }),
      around_{.routes = routes_,
              .pipeline = pipeline_,
              .memory = memory_,
              .clock = place.clock,
              .address_of = [](std::uint64_t process) { return "node" + std::to_string(process); },
              .lives =
                  [this](std::uint64_t process, std::uint32_t shard) {
                    const auto heard = heard_.find(process);
                    return process != node_ && heard != heard_.end() &&
                           place_.clock.monotonic_ns() < heard->second.second + 3 * kSecond &&
                           heard->second.first.shards.at(shard).has_data();
                  },
              .keep_expired = [] {},
              .newest_snapshot = [this](std::uint32_t shard) { return reader_.snapshot(shard); },
              .items_of =
                  [this](std::string_view from, std::string_view to) {
                    return std::make_unique<ShardsSource>(memory_, place_.dice, from, to);
                  },
              .tell_snapshot =
                  [this](std::uint32_t shard, const SnapshotEntry& entry, server::Board::Done done) {
                    place_.board.put(server::snapshot_key(shard), server::write_snapshot_entry(entry),
                                     place_.link, [this, done = std::move(done)](bool stored) {
                                       cluster_.run([done, stored] { done(stored); });
                                     });
                  },
              .info = [this](const std::string& line) { note(line); },
              .warn = [this](const std::string& line) { note(line); }} {
  place_.board.read(read_, reader_);
  reader_.caught_up();
  const auto open = [this](ClusterEngine& engine) {
    return std::make_unique<ClusterLog>(place_.timeline, place_.dice, engine, place_.link,
                                        [this](Timeline::Action action) {
                                          cluster_.run([this, action = std::move(action)] {
                                            action();
                                            ring();
                                          });
                                        });
  };
  for (std::uint32_t id = 0; id < kShards; ++id) {
    server::ShardOptions options;
    options.scope = scope_of(id);
    options.node = node_;
    options.address = "node" + std::to_string(node_);
    options.lease_ns = place_.dice.between(2, 4) * kSecond;
    options.margin_permille = margin_permille;
    options.part_bytes = 100;
    options.fresh_ns = kStalenessNs / 4;
    options.preferred = place_.dice.permille(333);
    options.seed = place_.dice.below(1U << 30U) + 1;
    options.rules = place_.shard_rules;
    shards_.push_back(std::make_unique<HostedShard>(around_, id, open(place_.logs[id].changes),
                                                    open(place_.logs[id].snapshots), options));
  }
  routes_.changes().set_hooks({.asked =
                                   [this] {
                                     for (const auto& worker : workers_) {
                                       worker->wake();
                                     }
                                   },
                               .ended = [this] { ring(); }});
  for (std::size_t i = 0; i < kWorkers; ++i) {
    workers_.push_back(std::make_unique<ShardsWorker>(
        ShardsWorker::Place{.timeline = place_.timeline,
                            .dice = place_.dice,
                            .clock = place_.clock,
                            .routes = routes_,
                            .pipeline = pipeline_,
                            .memory = memory_,
                            .keys = place_.keys,
                            .node = node_,
                            .id = runtime::WorkerId{static_cast<std::uint16_t>(i)},
                            .rules = place_.rules}));
  }
}

void ShardsProcess::start() {
  tick();
}

void ShardsProcess::kill() {
  alive_ = false;
  cluster_.end();
  applier_.end();
  for (const auto& worker : workers_) {
    worker->thread.end();
  }
}

void ShardsProcess::stand_still() {
  cluster_.stand_still();
  applier_.stand_still();
  for (const auto& worker : workers_) {
    worker->thread.stand_still();
  }
}

// A random one goes first.
void ShardsProcess::go_on() {
  std::vector<SimThread*> threads{&cluster_, &applier_};
  for (const auto& worker : workers_) {
    threads.push_back(&worker->thread);
  }
  for (; !threads.empty(); threads.pop_back()) {
    std::swap(threads[place_.dice.below(threads.size())], threads.back());
    threads.back()->go_on();
  }
}

// One turn for all events until then.
void ShardsProcess::ring() {
  if (!std::exchange(rung_, true)) {
    place_.timeline.in(place_.dice.below(kMs / 2), [this] { cluster_.run([this] { turn(); }); });
  }
}

void ShardsProcess::turn() {
  rung_ = false;
  while (pipeline_.step()) {
  }
  for (const std::uint32_t shard : std::exchange(strayed_, {})) {
    note_straggler(shard);
    shards_[shard]->strayed();
  }
  const std::uint64_t now_ns = place_.clock.monotonic_ns();
  const bool ticks = now_ns >= tick_ns_;
  for (const auto& shard : shards_) {
    if (ticks) {
      shard->tick();
    }
    shard->settle();
  }
  if (!ticks) {
    return;
  }
  tick_ns_ = now_ns + place_.dice.between(60 * kMs, 120 * kMs);
  say_word(now_ns);
  if (!place_.link.reads_cut) {
    place_.board.read(read_, reader_);
    read_words(now_ns);
    for (const std::uint32_t shard : reader_.take_outdated()) {
      place_.board.put(server::snapshot_key(shard), server::write_snapshot_entry(*reader_.snapshot(shard)),
                       place_.link, [](bool /*stored*/) {});
    }
  }
  for (const auto& shard : shards_) {
    if (place_.dice.permille(8)) {
      shard->take_snapshot(200);
    }
  }
}

// As a node's presence, once a second.
void ShardsProcess::say_word(std::uint64_t now_ns) {
  if (now_ns < word_ns_) {
    return;
  }
  word_ns_ = now_ns + kSecond;
  const std::string name = "node" + std::to_string(node_);
  server::Presence word{
      .name = name, .process = node_, .address = name, .peer = name, .version = "1", .shards = {}};
  for (const auto& shard : shards_) {
    word.shards.push_back(shard->presence());
  }
  place_.board.put(server::presence_key(name), server::write_presence(word), place_.link,
                   [](bool /*stored*/) {});
}

void ShardsProcess::read_words(std::uint64_t now_ns) {
  for (const auto& [name, text, position] : reader_.take_presences()) {
    if (const auto presence = server::parse_presence(text)) {
      heard_[presence->process] = {*presence, now_ns};
    }
  }
}

void ShardsProcess::tick() {
  ring();
  place_.timeline.in(60 * kMs, [this] {
    if (alive_) {
      tick();
    }
  });
}

void ShardsProcess::ask(ShardsRequest& request) {
  if (alive_) {
    workers_[place_.dice.below(kWorkers)]->arrive(request);
  }
}

void ShardsProcess::leave(std::uint32_t shard, std::uint64_t to) {
  cluster_.run([this, shard, to] {
    if (to != node_) {
      shards_[shard]->leave(to);
    }
    ring();
  });
}

bool ShardsProcess::is_quiet() const {
  return pipeline_.idle() && memory_.begun(0) == memory_.finished(0) && !memory_.any_failed() &&
         std::ranges::none_of(shards_, [](const auto& shard) { return shard->loading(); });
}

void ShardsProcess::note_straggler(std::uint32_t shard) {
  ++paths_.strayed;
  const bool leaves = shards_[shard]->engine().now() == server::Shard::role::leaves;
  paths_.strayed_behind_yield += leaves || left_[shard] ? 1 : 0;
}

void ShardsProcess::note(const std::string& line) {
  const auto tells = [&line](const char* what) { return line.find(what) != std::string::npos ? 1U : 0U; };
  paths_.stranded += tells("has been cut off");
  paths_.lacked += tells("out of memory");
  paths_.opened += tells(": serves");
  paths_.left += tells("handed over to another node");
  if (tells(": serves") + tells("handed over to another node") > 0) {
    const std::size_t shard = std::stoul(line.substr(std::string_view{"shard "}.size()));
    left_.at(shard) = tells(": serves") == 0;
  }
}

ProcessPaths ShardsProcess::paths() const {
  ProcessPaths paths = paths_;
  paths.voided = pipeline_.counts().voided.load();
  paths.failures = pipeline_.failures();
  for (const auto& worker : workers_) {
    const WorkerPaths& one = worker->paths();
    paths.workers.held += one.held;
    paths.workers.given_up += one.given_up;
    paths.workers.stragglers += one.stragglers;
    paths.workers.slow += one.slow;
    paths.workers.parked += one.parked;
    paths.workers.by_replica += one.by_replica;
    paths.workers.overtaken += one.overtaken;
    paths.workers.overtaken_at_copies += one.overtaken_at_copies;
  }
  for (const auto& shard : shards_) {
    ProcessPaths one;
    one.hosted = shard->counters();
    one.shards = shard->engine().counters();
    paths.add(one);
  }
  return paths;
}

void ProcessPaths::add(const ProcessPaths& other) {
  workers.held += other.workers.held;
  workers.given_up += other.workers.given_up;
  workers.stragglers += other.workers.stragglers;
  workers.slow += other.workers.slow;
  workers.parked += other.workers.parked;
  workers.by_replica += other.workers.by_replica;
  workers.overtaken += other.workers.overtaken;
  workers.overtaken_at_copies += other.workers.overtaken_at_copies;
  hosted.thrown_away += other.hosted.thrown_away;
  hosted.snapshots_loaded += other.hosted.snapshots_loaded;
  hosted.snapshots_taken += other.hosted.snapshots_taken;
  hosted.snapshots_failed += other.hosted.snapshots_failed;
  hosted.stayed += other.hosted.stayed;
  add_counters(shards, other.shards);
  strayed += other.strayed;
  strayed_behind_yield += other.strayed_behind_yield;
  stranded += other.stranded;
  lacked += other.lacked;
  opened += other.opened;
  left += other.left;
  voided += other.voided;
  failures += other.failures;
}

}  // namespace mxkv::simulation
