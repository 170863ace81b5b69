#include "tests/simulation/store_client.hpp"

#include <array>
#include <utility>

#include "protocol/parser.hpp"
#include "protocol/reply.hpp"
#include "server/net/key_hash.hpp"

namespace mxkv::simulation {

namespace {

using protocol::verb;
using server::operation_kind;

const protocol::Parser kParser{protocol::ParserLimits{}};

operation_kind kind_of(const protocol::Request& request) {
  switch (request.op) {
    case verb::gets:
      return operation_kind::read;
    case verb::meta_get:
      return request.meta.changes_item() ? operation_kind::exclusive : operation_kind::read;
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

}  // namespace

StoreClient::StoreClient(runtime::Worker& worker, server::Store& store, server::ReplyDirectory& directory,
                         StoreReplies& replies, StoreRecord& record)
    : worker_(worker),
      store_(store),
      directory_(directory),
      replies_(replies),
      record_(record),
      entry_(&directory.open(this)),
      entries_{entry_} {}

void StoreClient::send(StoreRequest request) {
  if (!start(request)) {
    waiting_ = std::move(request);
  }
}

void StoreClient::go_on() {
  if (waiting_ && start(*waiting_)) {
    waiting_.reset();
  }
}

// The reply may be written before the store's function returns.
bool StoreClient::start(StoreRequest& request) {
  protocol::Request parsed;
  const std::size_t line = parse(request.text, parsed);
  const operation_kind kind = kind_of(parsed);
  const server::FenceClaim claim{kind, kind == operation_kind::range || kind == operation_kind::barrier
                                           ? 0
                                           : server::hash_key(parsed.key)};
  if (!entry_->fence.try_start(claim)) {
    return false;
  }
  record_.invoked(request.op);
  sent_.push_back(request);
  const std::string_view rest = std::string_view{request.text}.substr(line);
  switch (parsed.op) {
    case verb::gets:
      store_.get(worker_, parsed.key, parsed.op, 0, true, address(claim));
      return true;
    case verb::meta_get:
      store_.meta_get(worker_, parsed.key, parsed.op, parsed.meta, address(claim));
      return true;
    case verb::meta_batch:
      store_.batch(worker_, receive_batch(parsed, rest), address(claim));
      return true;
    case verb::flush_all:
      store_.flush_all(worker_, 0, address(claim));
      return true;
    default:
      break;
  }
  if (protocol::is_range(parsed.op)) {
    store_.range(worker_, parsed, address(claim));
  } else if (!protocol::takes_value(parsed.op)) {
    store_.mutate(worker_, parsed, address(claim), entry_->commits.start());
  } else if (auto value = receive_value(parsed, rest)) {
    store_.store(worker_, std::move(*value), address(claim), entry_->commits.start());
  } else {
    const server::ReplyAddress to = address(claim);
    directory_.reply(to, protocol::kOutOfMemory);
    directory_.finished(to);
  }
  return true;
}

server::ReplyAddress StoreClient::address(server::FenceClaim claim) {
  server::ReplyAddress address = directory_.address(*entry_);
  address.ticket = entry_->replies.open();
  address.fence = claim.stored();
  return address;
}

std::optional<server::ItemBuilder> StoreClient::receive_value(const protocol::Request& request,
                                                              std::string_view rest) {
  server::ItemBuilder builder = server::ItemBuilder::begin(worker_, request);
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
  auto batch = std::make_unique<server::Batch>(static_cast<std::uint32_t>(request.delta));
  protocol::Request line;
  while (batch->missing() > 0) {
    rest.remove_prefix(parse(rest, line));
    if (line.op != verb::meta_set) {
      if (!batch->failed()) {
        batch->add(worker_, line);
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
      batch->add(worker_, std::move(*value));
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
  while (const std::size_t count = output.gather(pieces)) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      received_.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
      bytes += pieces[i].iov_len;
    }
    output.consume(bytes);
  }
  while (!sent_.empty() && !received_.empty()) {
    const std::size_t bytes = replies_.read(received_, sent_.front());
    if (bytes == 0) {
      return;
    }
    received_.erase(0, bytes);
    if (sent_.front().recorded) {
      record_.responded(std::move(sent_.front().op));
    }
    sent_.pop_front();
  }
}

void StoreClient::leave() {
  receive();
  for (StoreRequest& request : sent_) {
    if (request.recorded) {
      record_.cut_off(std::move(request.op));
    }
  }
  sent_.clear();
  waiting_.reset();
  received_.clear();
  directory_.close(*entry_);
}

void StoreClient::reconnect() {
  leave();
  entry_ = &directory_.open(this);
  entries_.push_back(entry_);
}

}  // namespace mxkv::simulation
