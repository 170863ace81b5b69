#include "server/net/peers/forwarder.hpp"

#include <algorithm>
#include <utility>

#include "protocol/reply.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/scheduler/worker.hpp"
#include "server/cluster/binary_forward.hpp"
#include "server/cluster/refusal.hpp"

namespace mxkv::server {

namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
/// Counted for each request in addition to its text.
constexpr std::size_t kRequestBytes = sizeof(ForwardedRequest);
constexpr std::size_t kMostFree = 1024;
constexpr std::size_t kKeptText = 4096;
/// After so many answers "moved" in a row, the shard's requests pause for a moment.
constexpr std::uint32_t kMovesAtOnce = 2;

}  // namespace

Forwarder::Forwarder(ClusterStore& cluster, runtime::Worker& worker, ConnectionTable& replies,
                     Happenings& happenings)
    : cluster_(cluster),
      routes_(cluster.routes()),
      changes_(routes_.changes().add_worker()),
      worker_(worker),
      replies_(replies),
      happenings_(happenings),
      rules_{.connect_ns = cluster.options().connect_ms * kNsPerMs,
             .answer_ns = cluster.options().answer_ms * kNsPerMs},
      own_peer_(cluster.routes().peer(cluster.options().own_address)),
      lines_(cluster.routes().shards()) {
  cluster.set_forwarder(worker.id().index(), *this);
  replies_.count_changes(changes_);
}

std::uint64_t Forwarder::now_ns() const noexcept {
  return worker_.now_ns();
}

std::unique_ptr<ForwardedRequest> Forwarder::take() {
  if (free_.empty()) {
    return std::make_unique<ForwardedRequest>();
  }
  std::unique_ptr<ForwardedRequest> taken = std::move(free_.back());
  free_.pop_back();
  return taken;
}

// Nothing is sent or answered before end_turn(). Connections that are settled behind it begin requests, too, and then
// the worker must not sleep.
void Forwarder::forward(std::unique_ptr<ForwardedRequest> request) {
  next_ns_ = 0;
  ForwardCounters::add(counters_.requests);
  const std::size_t bytes = request->text.size() + kRequestBytes;
  const std::size_t most = cluster_.options().forward_bytes;
  const bool too_much = bytes_ + std::min(bytes, most / 2) > most;  // large values must be able to pass, too
  bytes_ += bytes;
  ++on_way_;
  if (too_much) [[unlikely]] {
    refused_.push_back(std::move(request));
    return;
  }
  if (request->writes) {
    request = order_.take(std::move(request));
  }
  if (request != nullptr) {
    line_up(std::move(request));
  }
}

void Forwarder::line_up(std::unique_ptr<ForwardedRequest> request) {
  const std::uint32_t shard = request->shard;
  lines_[shard].waiting.push_back(std::move(request));
  list(shard);
}

void Forwarder::list(std::uint32_t shard) {
  if (!std::exchange(lines_[shard].listed, true)) {
    lines_due_.push_back(shard);
  }
}

PeerLink& Forwarder::link(std::uint32_t peer, bool changes) {
  const std::size_t at = 2 * std::size_t{peer} + (changes ? 1 : 0);
  if (at >= links_.size()) {
    links_.resize(at + 1);
  }
  std::unique_ptr<PeerLink>& found = links_[at];
  if (found == nullptr) {
    PeerLinkOwner& owner = *this;
    found = std::make_unique<PeerLink>(owner, events_, counters_, rules_, routes_.peer_address(peer));
  }
  return *found;
}

// --- Rounds ---

bool Forwarder::poll() {
  changes_.look();
  if (on_way_ == 0 && !bell_.rings) [[likely]] {
    return false;
  }
  bell_.rings = false;
  while (events_.take([this](PeerLink& link, Readiness now) {
    link.became_ready(now);
    ready_.push_back(&link);
  })) {
  }
  const bool any = !ready_.empty();
  for (PeerLink* const link : std::exchange(ready_, {})) {
    link->read(now_ns());
  }
  if (now_ns() >= next_ns_) {
    for (const std::unique_ptr<PeerLink>& link : links_) {
      if (link != nullptr) {
        link->check(now_ns());
      }
    }
  }
  return any;
}

bool Forwarder::end_turn() {
  next_ns_ = PeerLink::kNever;
  if (on_way_ == 0) [[likely]] {
    return false;
  }
  bool any = !refused_.empty();
  for (std::unique_ptr<ForwardedRequest>& request : std::exchange(refused_, {})) {
    ForwardCounters::add(counters_.no_memory);
    refuse(std::move(request), protocol::kNoForwardMemory);
  }
  if (order_.any_behind_own()) [[unlikely]] {
    order_.release([this](std::unique_ptr<ForwardedRequest> write) { line_up(std::move(write)); });
  }
  // Each line ends up with a link, or is listed again.
  for (const std::uint32_t shard : std::exchange(lines_due_, {})) {
    lines_[shard].listed = false;
    lines_[shard].look_again_ns = 0;
    any = send_line(shard, now_ns()) || any;
  }
  for (const std::unique_ptr<PeerLink>& link : links_) {
    if (link != nullptr) {
      any = link->flush(now_ns()) || any;
      next_ns_ = std::min(next_ns_, link->next_ns());
    }
  }
  for (const std::uint32_t shard : lines_due_) {
    next_ns_ = std::min(next_ns_, lines_[shard].look_again_ns);
  }
  return any;
}

std::uint64_t Forwarder::most_sleep_ns() const noexcept {
  const std::uint64_t now = now_ns();
  return next_ns_ == PeerLink::kNever ? PeerLink::kNever : next_ns_ - std::min(now, next_ns_);
}

// --- A shard's requests ---

// Requests that were sent before go again as soon as nothing else of the shard is on its way, because they
// are older than all of that.
bool Forwarder::send_line(std::uint32_t shard, std::uint64_t now_ns) {
  Line& line = lines_[shard];
  if (line.idle()) {
    return false;
  }
  drop_late(line, shard, now_ns);
  const Route route = routes_.route(shard);
  const std::uint32_t peer = route.where == Route::to::here ? own_peer_ : route.peer;
  if (line.idle()) {
    return true;
  }
  if (line.in_flight > 0 && (!line.again.empty() || line.peer != peer)) {
    return false;  // the answer lists the shard again
  }
  if (route.where == Route::to::nobody) {
    hold(line, now_ns + cluster_.options().again_ms * kNsPerMs, now_ns);
    list(shard);
    return false;
  }
  PeerLink& reads = link(peer, false);
  PeerLink& writes = link(peer, true);
  if (now_ns < line.not_before_ns || !reads.usable(now_ns) || !writes.usable(now_ns)) {
    line.unreached = line.unreached || now_ns >= line.not_before_ns;  // requests for other shards may have
                                                                      // found that
    hold(line, std::max({line.not_before_ns, reads.usable_ns(), writes.usable_ns()}), now_ns);
    list(shard);
    return false;
  }
  line.peer = peer;
  line.not_before_ns = line.look_again_ns = 0;
  for (auto* const queue : {&line.again, &line.waiting}) {
    for (std::unique_ptr<ForwardedRequest>& request : *queue) {
      request->sent_to = peer;
      ++line.in_flight;
      (request->changes ? writes : reads).send(std::move(request), now_ns);
    }
    queue->clear();
  }
  return true;
}

void Forwarder::hold(Line& line, std::uint64_t until_ns, std::uint64_t now_ns) {
  line.look_again_ns = until_ns;
  for (auto* const queue : {&line.again, &line.waiting}) {
    for (const std::unique_ptr<ForwardedRequest>& request : *queue) {
      if (request->give_up_ns == 0) {
        request->give_up_ns = now_ns + cluster_.options().patience_ms * kNsPerMs;
        ForwardCounters::add(counters_.held);
      }
    }
  }
}

void Forwarder::drop_late(Line& line, std::uint32_t shard, std::uint64_t now_ns) {
  for (auto* const queue : {&line.again, &line.waiting}) {
    while (!queue->empty() && queue->front()->give_up_ns != 0 && now_ns >= queue->front()->give_up_ns) {
      std::unique_ptr<ForwardedRequest> late = std::move(queue->front());
      queue->pop_front();
      ForwardCounters::add(counters_.no_owner);
      if (late->goes) {
        order_.give_up_behind(*late);
      }
      refuse(std::move(late), why_late(line, shard));
    }
  }
}

std::string Forwarder::why_late(const Line& line, std::uint32_t shard) const {
  const Route route = routes_.route(shard);
  return route.where == Route::to::peer && line.unreached
             ? unreachable_line(shard, routes_.peer_address(route.peer))
             : no_owner_line(shard);
}

void Forwarder::answered(std::unique_ptr<ForwardedRequest> request, std::string_view reply) {
  Line& line = lines_[request->shard];
  MXKV_ASSERT(line.in_flight > 0, "a request is answered once");
  --line.in_flight;
  line.unreached = false;
  if (!line.idle()) {
    list(request->shard);
  }
  if (reply.starts_with(kMoved)) [[unlikely]] {
    moved(std::move(request), reply.substr(kMoved.size(), reply.find('\r') - kMoved.size()));
    return;
  }
  line.moves = 0;
  deliver(std::move(request), reply);
}

// The node that answered has executed nothing. Its answer may name the new owner, or nobody yet.
void Forwarder::moved(std::unique_ptr<ForwardedRequest> request, std::string_view address) {
  const std::uint32_t shard = request->shard;
  Line& line = lines_[shard];
  const Route before{Route::to::peer, request->sent_to};
  const bool known = address != "-" && address != cluster_.options().own_address;
  const std::uint32_t peer = known ? routes_.peer(address) : request->sent_to;
  if (known && peer != request->sent_to) {
    routes_.hint(shard, before, {Route::to::peer, peer});
  }
  if (peer == request->sent_to || ++line.moves > kMovesAtOnce) {
    line.not_before_ns = now_ns() + cluster_.options().again_ms * kNsPerMs;
  }
  if (request->give_up_ns == 0) {
    request->give_up_ns = now_ns() + cluster_.options().patience_ms * kNsPerMs;
  }
  ForwardCounters::add(counters_.again);
  line.again.push_back(std::move(request));
  list(shard);
}

void Forwarder::lost(std::unique_ptr<ForwardedRequest> request, bool sent) {
  const std::uint32_t shard = request->shard;
  Line& line = lines_[shard];
  MXKV_ASSERT(line.in_flight > 0, "a request is lost once");
  --line.in_flight;
  line.unreached = true;
  if (sent && request->changes) {
    ForwardCounters::add(counters_.lost);
    refuse(std::move(request), lost_line(shard));
  } else {
    if (request->give_up_ns == 0) {
      request->give_up_ns = now_ns() + cluster_.options().patience_ms * kNsPerMs;
    }
    ForwardCounters::add(counters_.again);
    line.again.push_back(std::move(request));
  }
  if (!line.idle()) {
    list(shard);
  }
}

void Forwarder::complained(const std::string& address, const std::string& why) {
  happenings_.note(happening::failed_handshake, {.client = "node " + address, .text = ": " + why});
}

// --- Replies ---

void Forwarder::deliver(std::unique_ptr<ForwardedRequest> request, std::string_view reply) {
  if (request->then) [[unlikely]] {
    request->then(reply);
    end(std::move(request));
    return;
  }
  if (request->binary.given()) {
    answer_binary(*request, reply);
    end(std::move(request));
    return;
  }
  if (!request->end_line) {
    if (!reply.ends_with(protocol::kEnd)) [[unlikely]] {
      refuse(std::move(request), reply);
      return;
    }
    reply.remove_suffix(protocol::kEnd.size());
  }
  if (ReplyQueue* const queue = replies_.find(request->address, Seen::nothing())) {
    queue->append(request->address.ticket, reply);
    queue->close(request->address.ticket);
  }
  end(std::move(request));
}

void Forwarder::answer_binary(const ForwardedRequest& request, std::string_view reply) {
  if (ReplyQueue* const queue = replies_.find(request.address, Seen::nothing())) {
    write_binary_answer(*queue, request.address.ticket, request.binary, request.key, reply);
    queue->close(request.address.ticket);
  }
}

void Forwarder::refuse(std::unique_ptr<ForwardedRequest> request, std::string_view text) {
  if (request->then) {
    request->then(text);
  } else if (request->binary.given()) {
    answer_binary(*request, text);
  } else {
    refuse_request(replies_, request->address, request->end_line, text);
  }
  end(std::move(request));
}

// finished() may start the connection's next requests.
void Forwarder::end(std::unique_ptr<ForwardedRequest> request) {
  MXKV_ASSERT(on_way_ > 0 && bytes_ >= request->text.size() + kRequestBytes, "a request ends once");
  --on_way_;
  bytes_ -= request->text.size() + kRequestBytes;
  const ReplyAddress address = request->address;
  const CommitSeq seq = request->seq;
  const bool writes = request->writes;
  const bool has_client = !request->then;
  if (request->goes) {
    if (std::unique_ptr<ForwardedRequest> next = order_.next_of(*request)) [[unlikely]] {
      line_up(std::move(next));
    }
  }
  if (free_.size() < kMostFree && request->text.capacity() <= kKeptText) {
    std::string text = std::move(request->text);
    text.clear();
    *request = {};
    request->text = std::move(text);
    free_.push_back(std::move(request));
  }
  if (has_client && writes) {
    replies_.finished_write(address, seq);
  } else if (has_client) {
    replies_.finished(address);
  }
}

}  // namespace mxkv::server
