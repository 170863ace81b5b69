#include "tests/simulation/store_client.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "protocol/parser.hpp"
#include "protocol/reply.hpp"
#include "protocol/set_lines.hpp"
#include "server/net/observe/key_hash.hpp"

namespace mxkv::simulation {

namespace {

using protocol::verb;
using server::operation_kind;

const protocol::Parser kParser{protocol::ParserLimits{}};

operation_kind kind_of(const protocol::Request& request) {
  switch (request.op) {
    case verb::get:
    case verb::gets:
      return operation_kind::read;
    case verb::gat:
    case verb::gats:
      return operation_kind::exclusive;
    case verb::meta_get:
      return request.meta.changes_item() ? operation_kind::exclusive : operation_kind::read;
    case verb::scan:
    case verb::meta_range:
    case verb::meta_count:
      return operation_kind::range;
    case verb::meta_range_delete:
    case verb::meta_range_touch:
    case verb::meta_batch:
    case verb::flush_all:
      return operation_kind::barrier;
    default:
      return operation_kind::write;
  }
}

/// Parses the line at the front of `text`; returns its bytes.
std::size_t parse(std::string_view text, protocol::Request& request) {
  protocol::LineState line;
  const protocol::Parsed parsed = kParser.parse(text.data(), text.size(), line, request);
  MXKV_ASSERT(parsed.what == protocol::outcome::request, "simulated clients send what can be parsed");
  return parsed.consumed;
}

/// Whether sessions take it together with others: get, and mg with v alone.
bool is_usual_get(std::string_view text) {
  protocol::AskedKey key;
  return protocol::take_get_lines(text.data(), text.size(), kParser.limits(), {&key, 1}, 1).lines == 1;
}

}  // namespace

StoreClient::StoreClient(runtime::Worker& worker, server::Store& store, server::ConnectionTable& directory,
                         StoreReplies& replies, StoreRecord& record)
    : worker_(worker),
      store_(store),
      directory_(directory),
      replies_(replies),
      record_(record),
      entry_(&directory.open(*this)),
      entries_{entry_},
      session_(record.new_session()),
      held_(entry_->replies.output().end()) {}

void StoreClient::plan(std::vector<StoreRequest> requests) {
  std::move(requests.begin(), requests.end(), std::back_inserter(planned_));
}

bool StoreClient::send_planned(std::size_t most) {
  bool any = false;
  while (!planned_.empty() && !waits() && in_flight() < most) {
    any = true;
    begin(std::exchange(planned_.front(), {}));
    planned_.pop_front();
  }
  start_together();
  return any;
}

void StoreClient::send(StoreRequest request) {
  begin(std::move(request));
  start_together();
}

void StoreClient::begin(StoreRequest request) {
  if (!start(request)) {
    waiting_ = std::move(request);
  }
}

void StoreClient::go_on() {
  if (waiting_ && start(*waiting_)) {
    waiting_.reset();
  }
  start_together();
}

// Consecutive gets that claim the same start together, as the gets of a session do whose keys are not noted.
void StoreClient::add_get(const protocol::Request& request, std::string_view key, server::OrderClaim claim) {
  const bool with_cas = request.op == verb::gets;
  const server::ReplyAddress to = address(claim);
  if (!gets_.empty() && (with_cas != with_cas_ || claim.stored() != first_.claim ||
                         to.ticket != first_.ticket + gets_.size())) {
    start_gets();
  }
  if (gets_.empty()) {
    first_ = to;
    with_cas_ = with_cas;
  }
  gets_.push_back({key.data(), static_cast<std::uint8_t>(key.size()),
                   protocol::is_meta(request.op) ? protocol::asked::meta : protocol::asked::last});
}

void StoreClient::start_gets() {
  if (!gets_.empty()) {
    const std::vector<protocol::AskedKey> gets =
        std::exchange(gets_, {});  // the replies may let others begin
    store_.get(worker_, gets, with_cas_, first_);
  }
}

// The reply may be written before the store's function returns.
bool StoreClient::start(StoreRequest& request) {
  protocol::Request parsed;
  const std::size_t line = parse(request.text, parsed);
  const operation_kind kind = kind_of(parsed);
  server::OrderClaim claim{kind, has_one_key(kind) ? server::hash_key(parsed.key) : 0};
  if ((kind == operation_kind::read || kind == operation_kind::write) && entry_->order.keys_untracked(kind)) {
    claim = entry_->order.start_untracked(kind);
  } else if (!entry_->order.try_start(claim)) {
    return false;
  }
  if (kind == operation_kind::range) {
    directory_.began_range();
  }
  request.op.kind = kind;
  request.op.session = session_;
  request.op.number = ++started_;
  record_.invoked(request.op);
  sent_.push_back(request);
  if (parsed.op == verb::get || parsed.op == verb::gets || is_usual_get(request.text)) {
    const auto at = static_cast<std::size_t>(parsed.key.data() - request.text.data());
    start_sets();
    add_get(parsed, std::string_view{sent_.back().text}.substr(at, parsed.key.size()), claim);
    return true;
  }
  start_gets();
  const std::string_view rest = std::string_view{sent_.back().text}.substr(line);
  if (protocol::takes_value(parsed.op) && parsed.op != verb::meta_batch && add_set(parsed, rest, claim)) {
    return true;
  }
  start_sets();
  switch (parsed.op) {
    case verb::meta_batch:
      store_.batch(worker_, receive_batch(parsed, rest), address(claim));
      return true;
    case verb::flush_all:
      store_.flush_all(worker_, parsed.exptime, address(claim), {});
      return true;
    default:
      break;
  }
  if (protocol::is_range(parsed.op)) {
    store_.range(worker_, parsed, address(claim));
  } else if (!protocol::takes_value(parsed.op)) {
    start_point(protocol::point_request(parsed), nullptr, address(claim));
  } else {
    start_received(parsed, rest, address(claim));
  }
  return true;
}

void StoreClient::start_point(const protocol::PointRequest& request, server::ItemBuilder* value,
                              const server::ReplyAddress& to) {
  store_.point(worker_, request, value, to, request.terms.ordered ? entry_->commits.start() : 0);
}

// Of the request that was sent last.
server::ReplyAddress StoreClient::address(server::OrderClaim claim) {
  server::ReplyAddress address = directory_.address(*entry_);
  address.ticket = sent_.back().silent ? server::ReplyAddress::kNoTicket : entry_->replies.open();
  address.claim = claim.stored();
  return address;
}

// As TextIntake::take_sets(): consecutive sets with a reply start together if they claim the same. False: it is no
// usual set.
bool StoreClient::add_set(const protocol::Request& request, std::string_view rest, server::OrderClaim claim) {
  const std::string_view text = sent_.back().text;
  protocol::SentValue sent{};
  if (protocol::take_set_lines(text.data(), text.size(), kParser.limits(), server::kInlineValueBytes,
                               {&sent, 1}) == 0) {
    if (!server::is_plain_set(request)) {
      return false;
    }
    sent = {text.data() + text.find(request.key, 4), rest.data(),
            static_cast<std::uint32_t>(request.value_bytes), static_cast<std::uint8_t>(request.key.size()),
            false};
  }
  const server::ReplyAddress to = address(claim);
  if (!sets_.empty() && (!to.wants_reply() || claim.stored() != first_set_.claim ||
                         to.ticket != first_set_.ticket + sets_.size())) {
    start_sets();
  }
  if (sets_.empty()) {
    first_set_ = to;
  }
  sets_.push_back(sent);
  if (!to.wants_reply()) {
    start_sets();
  }
  return true;
}

// Those that find no memory go the long way, one by one.
void StoreClient::start_sets() {
  if (sets_.empty()) {
    return;
  }
  const std::vector<protocol::SentValue> sets = std::exchange(sets_, {});
  server::ReplyAddress to = first_set_;
  const std::size_t taken = store_.set(worker_, sets, to, entry_->commits.start_row(sets.size()));
  entry_->commits.take_back(sets.size() - taken);
  for (std::size_t i = taken; i < sets.size(); ++i) {
    to.ticket = to.wants_reply() ? first_set_.ticket + static_cast<std::uint32_t>(i) : to.ticket;
    protocol::Request request{};
    request.op = sets[i].meta ? verb::meta_set : verb::set;
    request.key = sets[i].key();
    request.value_bytes = sets[i].data_bytes;
    start_received(request, sets[i].value(), to);
  }
}

void StoreClient::start_received(const protocol::Request& request, std::string_view rest,
                                 const server::ReplyAddress& to) {
  if (auto value = receive_value(request, rest)) {
    start_point(value->request(), &*value, to);
  } else {
    directory_.reply(to, server::Seen::nothing(), protocol::kOutOfMemory);
    directory_.finished(to);
  }
}

std::optional<server::ItemBuilder> StoreClient::receive_value(const protocol::Request& request,
                                                              std::string_view rest) {
  server::ItemBuilder builder{worker_, request};
  if (builder.failed()) {
    return std::nullopt;
  }
  if (builder.append(worker_, rest.data(), request.value_bytes) < request.value_bytes) {
    builder.abandon(worker_);
    return std::nullopt;
  }
  return builder;
}

std::unique_ptr<server::Batch> StoreClient::receive_batch(const protocol::Request& request,
                                                          std::string_view rest) {
  auto batch = std::make_unique<server::Batch>(request.batch_lines);
  protocol::Request line;
  while (batch->missing() > 0) {
    rest.remove_prefix(parse(rest, line));
    if (line.op != verb::meta_set) {
      if (!batch->failed()) {
        batch->add(worker_, protocol::point_request(line), nullptr);
      } else {
        batch->fail(worker_, {});
      }
      continue;
    }
    std::optional<server::ItemBuilder> value;
    if (!batch->failed()) {
      value = receive_value(line, rest);
    }
    if (value) {
      batch->add(worker_, value->request(), &*value);
    } else {
      batch->fail(worker_, protocol::kOutOfMemory);
    }
    rest.remove_prefix(line.value_bytes + 2);
  }
  return batch;
}

void StoreClient::receive() {
  std::array<iovec, 3> pieces;
  server::OutputBuffer& output = entry_->replies.output();
  for (std::size_t most = sendable(); const std::size_t count = output.gather(pieces, most);) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      received_.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
      bytes += pieces[i].iov_len;
    }
    output.consume(bytes);
    most -= disk_ == nullptr ? 0 : bytes;
  }
  read_replies();
  if (entry_->order.in_flight() == 0 && received_.empty() &&
      (disk_ == nullptr || disk_->must_wait_for() == 0)) {
    all_unheard_ended();
  }
}

// As Connection's mark_output() and reached_disk().
std::size_t StoreClient::sendable() {
  server::OutputBuffer& output = entry_->replies.output();
  if (disk_ == nullptr) {
    return ~std::size_t{0};
  }
  const bool awaits = std::exchange(entry_->awaits_disk, false);
  static_cast<void>(
      held_.judge(output.end(), entry_->replies.all_closed(), awaits ? disk_->awaited() : 0, 0));
  while (held_.holds() && held_.awaited() <= disk_->durable()) {
    released_ = std::max(released_, held_.awaited());
    static_cast<void>(held_.open(held_.awaited(), 0));
  }
  return held_.sendable(output);
}

// A silent request is behind as soon as it is met here; a quiet one when a later reply comes in its place.
void StoreClient::read_replies() {
  while (!sent_.empty()) {
    StoreRequest& front = sent_.front();
    if (!front.silent && received_.empty()) {
      return;
    }
    const bool quiet = !front.opaque.empty();
    if (quiet && received_.find("\r\n") == std::string::npos) {
      return;
    }
    if (front.silent || (quiet && !StoreReplies::is_of(received_, front))) {
      unheard(front);
      sent_.pop_front();
      continue;
    }
    const std::size_t bytes = replies_.read(received_, front);
    if (bytes == 0) {
      return;
    }
    received_.erase(0, bytes);
    heard(std::exchange(front, {}));
    sent_.pop_front();
  }
}

void StoreClient::unheard(StoreRequest& request) {
  request.op.recorded = request.recorded;
  if (!request.opaque.empty()) {
    request.op.lines.front().reply = told::done;  // any other result has a reply
  }
  unheard_.push_back(std::move(request.op));
}

void StoreClient::heard(StoreRequest request) {
  unheard_ended(request.op);
  if (!request.paging.cursor.empty() && replies_.nonsense().empty()) {
    planned_.push_front(StoreRequests::next_page(request));
  }
  if (request.recorded) {
    record_.responded(std::move(request.op));
  } else {
    record_.ended_unrecorded();
  }
}

/// Ends the requests that `later`, which was answered, must follow.
void StoreClient::unheard_ended(const Operation& later) {
  std::erase_if(unheard_, [&](Operation& op) {
    const bool ended = must_follow(later, op);
    if (ended && op.recorded) {
      record_.ended_unheard(std::move(op));
    } else if (ended) {
      record_.ended_unrecorded();
    }
    return ended;
  });
}

// Nothing of it is in flight.
void StoreClient::all_unheard_ended() {
  while (!sent_.empty() && !sent_.front().opaque.empty()) {
    unheard(sent_.front());
    sent_.pop_front();
  }
  for (Operation& op : unheard_) {
    if (op.recorded) {
      record_.ended_unheard(std::move(op));
    } else {
      record_.ended_unrecorded();
    }
  }
  unheard_.clear();
}

std::string StoreClient::first_in_flight() const {
  if (waiting_ && sent_.empty()) {
    return "behind others: " + waiting_->text;
  }
  return sent_.empty() ? "one that nobody is told of" : sent_.front().text;
}

void StoreClient::leave() {
  receive();
  for (Operation& op : unheard_) {
    if (op.recorded) {
      record_.cut_off(std::move(op));
    }
  }
  for (StoreRequest& request : sent_) {
    if (request.recorded) {
      record_.cut_off(std::move(request.op));
    }
  }
  unheard_.clear();
  sent_.clear();
  waiting_.reset();
  planned_.clear();
  received_.clear();
  directory_.close(*entry_);
}

void StoreClient::reconnect() {
  leave();
  entry_ = &directory_.open(*this);
  held_ = server::HeldOutput{entry_->replies.output().end()};
  entries_.push_back(entry_);
  session_ = record_.new_session();
  started_ = 0;
}

}  // namespace mxkv::simulation
