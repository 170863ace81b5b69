#include "tests/simulation/cluster_process.hpp"

#include <sstream>
#include <utility>

namespace mxkv::simulation {

using server::Shard;
using server::ShardStart;

std::string write_record(const ClusterRecord& record, std::size_t padding) {
  return std::to_string(record.id) + ' ' + std::to_string(record.key) + ' ' + std::to_string(record.number) +
         ' ' + std::string(padding, '.');
}

ClusterRecord read_record(std::string_view text) {
  ClusterRecord record;
  std::istringstream{std::string{text}} >> record.id >> record.key >> record.number;
  return record;
}

ClusterProcess::ClusterProcess(const Place& place, server::ShardOptions options)
    : place_(place),
      options_(std::move(options)),
      items_(place.disk.items),
      epoch_(place.disk.epoch),
      log_(place.timeline, place.dice, place.engine, place.link,
           [this](Timeline::Action action) { run(std::move(action)); }),
      shard_(options_, log_, *this, place.clock, place.disk.start) {}

void ClusterProcess::start() {
  shard_.start();
  tick();
}

void ClusterProcess::kill() {
  alive_ = false;
  waiting_.clear();
  held_.clear();
}

void ClusterProcess::stand_still() {
  still_ = true;
}

void ClusterProcess::go_on() {
  still_ = false;
  while (runs() && !waiting_.empty()) {
    const Timeline::Action action = std::move(waiting_.front());
    waiting_.pop_front();
    action();
  }
}

void ClusterProcess::run(Timeline::Action action) {
  if (!alive_) {
    return;
  }
  if (still_) {
    waiting_.push_back(std::move(action));
  } else {
    action();
  }
}

void ClusterProcess::tick() {
  shard_.tick(true, place_.dice.permille(300));  // words of the owner arrive by chance
  const bool settled = shard_.unanswered() == 0 && acknowledged_ == epoch_ && shard_.state().whole();
  const bool usual = shard_.now() == Shard::role::follows || shard_.now() == Shard::role::owns;
  if (settled && usual && place_.dice.permille(10)) {
    place_.disk = {{shard_.position(), shard_.state()}, items_, epoch_};
  }
  place_.timeline.in(place_.dice.between(60 * kMs, 120 * kMs), [this] { run([this] { tick(); }); });
}

void ClusterProcess::ask(ClusterRequest& request) {
  if (!shard_.serves()) {
    answer(request, ClusterRequest::answer::refused);
    return;
  }
  if (const auto at = items_.find(request.key); at != items_.end()) {
    request.found = at->second;
  }
  if (request.written) {
    items_[request.key] = *request.written;
    held_.push_back({&request, ++epoch_});
    const std::size_t padding = place_.dice.permille(200) ? place_.dice.below(200) : 0;
    shard_.submit(epoch_, write_record({request.id, request.key, *request.written}, padding));
  } else if (acknowledged_ == epoch_) {
    answer(request, ClusterRequest::answer::value);
  } else {
    held_.push_back({&request, epoch_});
  }
}

bool ClusterProcess::leave(std::uint64_t to) {
  const bool leaves = runs() && shard_.serves();
  if (leaves) {
    shard_.leave(to);
  }
  return leaves;
}

void ClusterProcess::answer(ClusterRequest& request, ClusterRequest::answer told) {
  request.told = told;
  place_.timeline.in(place_.dice.between(kMs / 10, 3 * kMs), [this, &request] {
    run([this, &request] { request.answered_ns = place_.timeline.now_ns(); });
  });
}

void ClusterProcess::apply(std::uint64_t epoch, std::string_view records) {
  const ClusterRecord record = read_record(records);
  items_[record.key] = record.number;
  epoch_ = acknowledged_ = epoch;
}

void ClusterProcess::owns(std::uint64_t /*term*/) {}

void ClusterProcess::acknowledged(std::uint64_t epoch) {
  acknowledged_ = epoch;
  while (!held_.empty() && held_.front().epoch <= epoch) {
    answer(*held_.front().request, ClusterRequest::answer::value);
    held_.pop_front();
  }
}

std::optional<ShardStart> ClusterProcess::ousted() {
  for (const Held& held : std::exchange(held_, {})) {
    answer(*held.request,
           held.request->written ? ClusterRequest::answer::is_void : ClusterRequest::answer::refused);
  }
  if (acknowledged_ == epoch_) {
    return std::nullopt;
  }
  items_ = place_.disk.items;
  epoch_ = acknowledged_ = place_.disk.epoch;
  return place_.disk.start;
}

}  // namespace mxkv::simulation
