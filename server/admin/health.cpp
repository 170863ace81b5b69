#include "server/admin/health.hpp"

#include <utility>

namespace mxkv::server {

std::string_view name_of(serving state) noexcept {
  switch (state) {
    case serving::starting:
      return "starting";
    case serving::recovering:
      return "recovering";
    case serving::serves:
      return "serving";
    case serving::draining:
      return "draining";
  }
  return "starting";
}

std::string Health::State::text() const {
  if (now == serving::recovering) {
    return "recovering " + std::to_string(static_cast<int>(recovered * 100)) + " %, " +
           std::to_string(recovered_items) + " items, about " +
           std::to_string(static_cast<std::uint64_t>(seconds_left) + 1) + " s left\n";
  }
  if (now != serving::serves) {
    return std::string{name_of(now)} + "\n";
  }
  std::string text = ready() ? "ready\n" : "";
  for (const std::string& one : overloads) {
    text.append("overloaded: ").append(one).append("\n");
  }
  return text;
}

Health::Health() {
  state_.started_unix_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Health::State Health::state() const {
  const std::scoped_lock lock{mutex_};
  return state_;
}

void Health::set(serving now) {
  const std::scoped_lock lock{mutex_};
  state_.now = now;
  state_.recovered = now == serving::serves ? 1 : state_.recovered;
}

void Health::set_recovery(const RecoveryProgress& progress) {
  const std::scoped_lock lock{mutex_};
  state_.now = serving::recovering;
  state_.recovered = progress.fraction;
  state_.recovered_items = progress.items;
  state_.seconds_left = progress.seconds_left;
}

void Health::set_overloads(std::vector<std::string> overloads, bool takes_clients, std::string hangs) {
  const std::scoped_lock lock{mutex_};
  state_.takes_clients = takes_clients;
  state_.overloads = std::move(overloads);
  state_.hangs = std::move(hangs);
}

Overloads::Found Overloads::look(const ServingParts& parts, Time now) {
  std::vector<std::string> found;
  if (parts.durability != nullptr) {
    if (std::string refusal = parts.durability->status().refusal; !refusal.empty()) {
      found.push_back("writes are refused: " + std::move(refusal));
    }
  }
  const std::uint64_t refused = parts.count(counter::store_no_memory);
  if (refused != std::exchange(refused_, refused)) {
    refused_at_ = now;
  }
  if (refused_at_ && now - *refused_at_ < kRefusalCounts) {
    found.emplace_back("writes were refused for lack of memory in the last 10 s");
  }
  const std::size_t serves_on = found.size();  // these overloads do not make the server unready; the
                                               // following do
  look_at_cluster(parts, found);
  const NetStats net = parts.network.stats();
  if (!net.accepting) {
    found.emplace_back("no file descriptor is free for another connection");
  }
  const std::uint32_t most = parts.network.settings().limits.connections;
  if (net.open_connections >= most) {
    found.push_back("all of " + std::to_string(most) + " connections are in use (limits.connections)");
  }
  if (!looked_at_ || now - *looked_at_ >= kLookAtWorkers) {
    look_at_workers(parts, now);
  }
  if (!hanging_.empty()) {
    found.push_back(hanging_);
  }
  const bool takes_clients = found.size() == serves_on;
  return {.overloads = std::move(found), .takes_clients = takes_clients};
}

// Judged by the effect: a shard is served while its lease runs, whichever node owns it.
void Overloads::look_at_cluster(const ServingParts& parts, std::vector<std::string>& found) {
  if (parts.cluster == nullptr) {
    return;
  }
  const NodeStatus status = parts.cluster->status();
  const std::string error = status.last_error.empty() ? std::string{} : " (" + status.last_error + ")";
  if (status.lapsed != 0) {
    found.push_back("cluster: " + std::to_string(status.lapsed) +
                    " of this node's shards are not served: the brokers do not acknowledge" + error);
  }
  if (status.board_silent) {
    found.push_back("cluster: the brokers are silent" + error);
  }
  if (status.lacking != 0) {
    found.push_back("cluster: this node is no replica of " + std::to_string(status.lacking) + " of " +
                    std::to_string(status.shards.size()) + " shards: " + status.lack);
  } else if (status.incomplete != 0) {
    found.push_back("cluster: " + std::to_string(status.incomplete) + " of " +
                    std::to_string(status.shards.size()) + " shards are not loaded yet");
  } else if (!status.complete) {
    found.emplace_back("cluster: the logs that were read are not in memory yet");
  }
}

void Overloads::look_at_workers(const ServingParts& parts, Time now) {
  looked_at_ = now;
  const std::optional<HangingWorker> hanging = rounds_.hanging(pulses(parts.runtime));
  if (!hanging) {
    hangs_since_.reset();
    hanging_.clear();
    return;
  }
  hangs_since_ = hangs_since_.value_or(now);
  hanging_ =
      "worker " + std::to_string(hanging->worker) +
      (hanging->how == hang::in_a_task ? " hangs in a task" : " is stuck: its tasks retry without progress");
}

std::string Overloads::hangs_for_good(Time now) const {
  return hangs_since_ && now - *hangs_since_ >= kHangsForGood ? hanging_ : "";
}

}  // namespace mxkv::server
