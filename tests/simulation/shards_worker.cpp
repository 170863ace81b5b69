#include "tests/simulation/shards_worker.hpp"

#include <algorithm>
#include <utility>

namespace mxkv::simulation {

using server::GoneRecord;
using server::PutRecord;

std::uint64_t number_in(const std::string& value) {
  return std::stoull(value);
}

void ShardsWorker::soon(void (ShardsWorker::*part)(), std::uint64_t most_ns) {
  place_.timeline.in(place_.dice.between(kMs / 100, most_ns),
                     [this, part] { thread.run([this, part] { (this->*part)(); }); });
}

void ShardsWorker::wake() {
  if (!std::exchange(in_round_, true)) {
    soon(&ShardsWorker::begin_round, kMs / 2);
  }
}

// The socket takes it in, whether the process runs or not.
void ShardsWorker::arrive(ShardsRequest& request) {
  arrived_.push_back(&request);
  wake();
}

// Looks at failures() before durable(): see EpochPipeline::pass_fences().
void ShardsWorker::begin_round() {
  changes_.look();
  began_ns_ = place_.clock.monotonic_ns();
  mint_us_ = place_.pipeline.begin_round(place_.id, place_.clock.steady_us()).mint_us;
  horizon_us_ = place_.pipeline.epochs().horizon_us(0);
  if (const std::uint64_t broken = place_.pipeline.failures(); std::exchange(broken_, broken) != broken) {
    if (place_.rules.gives_up_what_waits) {
      paths_.given_up += held_.size();
      held_.clear();
    }
  }
  give_up_under_way();
  const std::uint64_t durable = place_.pipeline.epochs().durable();
  while (!held_.empty() && held_.front().epoch <= durable) {
    answer(*held_.front().request, ShardsRequest::answer::value);
    held_.pop_front();
  }
  if (const auto stall = std::exchange(before_serving_, {})) {
    stall();
  }
  soon(&ShardsWorker::serve, kMs / 5);
}

// As NetWorker::close_under_way().
void ShardsWorker::give_up_under_way() {
  const server::CommitGate::Drops before = std::exchange(drops_, place_.pipeline.drops());
  const bool all = drops_.all != before.all && place_.rules.gives_up_under_way;
  const bool of_copies = drops_.of_copies != before.of_copies && place_.rules.gives_up_reads_of_copies;
  for (Begun& begun : begun_) {
    if (begun.given_up || !(all || (of_copies && begun.request->takes_stale))) {
      continue;
    }
    begun.given_up = true;
    ++(all ? paths_.overtaken : paths_.overtaken_at_copies);
  }
}

void ShardsWorker::serve() {
  while (!arrived_.empty()) {
    take(*arrived_.front());
    arrived_.pop_front();
  }
  if (!begun_.empty()) {
    if (const auto stall = std::exchange(before_work_, {})) {
      stall();
    }
  }
  soon(&ShardsWorker::work, kMs / 10);
}

void ShardsWorker::work() {
  const std::uint64_t now_ns = place_.timeline.now_ns();
  std::vector<Begun> later;
  for (const Begun& begun : std::exchange(begun_, {})) {
    if (begun.at_ns <= now_ns) {
      const std::size_t done = done_.size();
      const std::size_t awaiting = awaiting_.size();
      execute(*begun.request);
      if (begun.given_up) {
        done_.resize(done);
        awaiting_.resize(awaiting);
      }
      if (begun.mark != 0) {
        changes_.end(begun.mark);
      }
    } else {
      later.push_back(begun);
    }
  }
  begun_ = std::move(later);
  soon(&ShardsWorker::end_round, kMs / 5);
}

void ShardsWorker::take(ShardsRequest& request) {
  const std::uint32_t shard = place_.routes.shard_of(place_.keys[request.key]);
  const std::uint64_t now_ns = place_.rules.asks_the_clock_late ? place_.clock.monotonic_ns() : began_ns_;
  if (!place_.routes.is_here(shard, now_ns)) {
    request.by_replica = request.takes_stale && place_.routes.is_fresh(shard, now_ns, kStalenessNs);
    paths_.by_replica += request.by_replica ? 1 : 0;
  }
  if (!request.by_replica && !place_.routes.is_here(shard, now_ns)) {
    answer(request, ShardsRequest::answer::refused);
    return;
  }
  const bool at_once = place_.dice.permille(970);
  std::uint64_t at_ns = place_.timeline.now_ns() + (at_once ? 0 : place_.dice.below(5 * kMs));
  const bool changes = request.asks != ShardsRequest::what::get;
  if (changes && place_.dice.permille(40)) {
    ++paths_.slow;
    at_ns += place_.dice.below(place_.dice.permille(400) ? 3 * kSecond : 300 * kMs);
  }
  // No clock knows how long a read is under way: some outlive the lease that let them in. Dice of its own: all else
  // happens as if they did not.
  if (Dice dice{request.id}; !changes && dice.permille(slow_reads_ ? 500 : 50)) {
    at_ns += dice.below(dice.permille(500) ? 8 * kSecond : kSecond);
  }
  begun_.push_back({&request, at_ns, changes ? changes_.begin() : server::BegunChanges::Mark{0}});
}

// As under a latch: changes memory and records the change at once.
void ShardsWorker::execute(ShardsRequest& request) {
  const std::string& key = place_.keys[request.key];
  const std::uint32_t shard = place_.routes.shard_of(key);
  paths_.stragglers +=
      request.by_replica || place_.routes.route(shard).where == server::Route::to::here ? 0 : 1;
  const auto item = place_.memory.items().find(key);
  const bool is_there = item != place_.memory.items().end();
  if (is_there) {
    request.found = number_in(item->second.value);
  }
  if (request.asks == ShardsRequest::what::get) {
    const bool waits = place_.memory.order_of_read(shard, key) > horizon_us_;
    (waits ? awaiting_ : done_).push_back(&request);
    return;
  }
  if (request.asks == ShardsRequest::what::set || is_there) {
    request.node = place_.node;
    request.order = place_.memory.mint(mint_us_);
    server::RecordBuffer& buffer = place_.pipeline.buffer(place_.id);
    if (request.asks == ShardsRequest::what::set) {
      std::string value = std::to_string(request.id) + ' ';
      value.append(place_.dice.permille(200) ? place_.dice.below(200) : 0, '.');
      buffer.append(PutRecord{.order = request.order, .key = key, .value = value});
      place_.memory.put(key, {std::move(value), request.order});
    } else {
      buffer.append(GoneRecord{.order = request.order, .key = key});
      place_.memory.remove(shard, key, request.order);
    }
  }
  awaiting_.push_back(&request);
}

// Replies leave at the end of a round, as sockets are written to.
void ShardsWorker::end_round() {
  for (ShardsRequest* const request : std::exchange(done_, {})) {
    answer(*request, ShardsRequest::answer::value);
  }
  const std::uint64_t recorded = place_.pipeline.epochs().last_recorded();
  for (ShardsRequest* const request : std::exchange(awaiting_, {})) {
    if (recorded > place_.pipeline.epochs().durable()) {
      ++paths_.held;
      held_.push_back({request, recorded});
    } else {
      answer(*request, ShardsRequest::answer::value);
    }
  }
  place_.pipeline.end_round(place_.id);
  const bool news = place_.pipeline.failures() != broken_ ||
                    (!held_.empty() && held_.front().epoch <= place_.pipeline.epochs().durable());
  const std::uint64_t now_ns = place_.timeline.now_ns();
  std::uint64_t next_ns = ~std::uint64_t{0};
  for (const Begun& begun : begun_) {
    next_ns = std::min(next_ns, begun.at_ns);
  }
  if (!arrived_.empty() || next_ns <= now_ns + kMs || news || place_.dice.permille(100)) {
    soon(&ShardsWorker::begin_round, kMs / 2);
    return;
  }
  if (!begun_.empty()) {
    place_.timeline.in(next_ns - now_ns, [this] { wake(); });
  }
  ++paths_.parked;
  place_.pipeline.park(place_.id);
  in_round_ = false;
}

void ShardsWorker::answer(ShardsRequest& request, ShardsRequest::answer told) {
  request.told = told;
  place_.timeline.in(place_.dice.between(kMs / 10, 3 * kMs),
                     [&request, &timeline = place_.timeline] { request.answered_ns = timeline.now_ns(); });
}

}  // namespace mxkv::simulation
