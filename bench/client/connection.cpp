#include "bench/client/connection.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "bench/client/units.hpp"
#include "bench/workload/uniform.hpp"

namespace mxkv::bench {
namespace {

// Holds the replies of a 64-deep pipeline of 1000-byte values; a longer reply makes its queue grow.
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::size_t kLeastReadRoom = std::size_t{4} << 10;
constexpr std::size_t kWriteBytes = std::size_t{16} << 10;

/// The interval times 0.8 to 1.2, by the record and the attempt: connections do not come back all at once.
std::uint64_t retry_pause_ns(const WorkloadSpec& spec, const Operation& operation) noexcept {
  runtime::Random random(operation.record + operation.retries);
  return static_cast<std::uint64_t>(spec.insert_retry_interval_s * kNsPerS * (0.8 + 0.4 * next_unit(random)));
}

}  // namespace

Connection::Connection(Socket socket, std::size_t depth, std::size_t refill)
    : socket_(std::move(socket)), in_(kReadBytes), out_(kWriteBytes), ring_(depth), refill_(refill) {}

Connection::Status Connection::start(const ConnectionContext& context, std::uint64_t now_ns) {
  fill(context, now_ns);
  return flush() ? status() : Status::broken;
}

Connection::Status Connection::turn(const ConnectionContext& context, std::uint64_t now_ns, bool sending) {
  const bool healthy = read_replies(context, now_ns);
  if (pause_ns_ > 0) {  // as in YCSB, the whole thread sleeps
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::exchange(pause_ns_, 0)));
  }
  if (healthy && sending && !context.pacer.paced() && ring_.size() - count_ >= refill_) {
    fill(context, now_ns);
  }
  if (!healthy || !flush()) {
    abandon(context, now_ns);
    return Status::broken;
  }
  return status();
}

bool Connection::read_replies(const ConnectionContext& context, std::uint64_t now_ns) {
  do {
    char* const at = in_.prepare(kLeastReadRoom);
    const Socket::Transfer transfer = socket_.receive(at, in_.room());
    if (transfer.status == Socket::Status::closed) {
      return false;
    }
    in_.commit(transfer.bytes);
    if (!parse_replies(context, now_ns)) {
      return false;
    }
  } while (socket_.has_more());
  return true;
}

/// Keeps the first line that refused a request, for the report.
void Connection::note_refusal(std::string_view reply) {
  constexpr std::size_t kMostBytes = 200;
  if (refusal_.empty()) {
    const std::string_view line = reply.substr(0, std::min(reply.find_first_of("\r\n"), kMostBytes));
    for (const char byte : line) {
      refusal_ += byte >= ' ' && byte <= '~' ? byte : '?';
    }
  }
}

/// Keeps the first of each kind, for the report.
void Connection::note_failure(const ConnectionContext& context, const Operation& operation, Outcome outcome) {
  std::string& first = outcome == Outcome::wrong ? first_wrong_ : first_missing_;
  const WorkloadSpec& spec = context.workload.spec();
  if (!first.empty() || spec.replay.trace != nullptr) {  // of a trace only the figures count
    return;
  }
  std::array<char, KeyFormat::kMaxBytes> key;
  const KeyFormat format(spec.zero_padding);
  first.append(report_name(operation.kind)).append(" ");
  first.append(key.data(), format.write(operation.key_hash, key.data())).append(": ");
  const ScanFlaw& flaw = reply_.scan.flaw();
  const bool scans = operation.kind == OperationKind::scan || operation.kind == OperationKind::locked_scan;
  first += scans && flaw.kind != ScanFlaw::what::none ? text_of(flaw, format)
           : outcome == Outcome::wrong ? "the value is not one that mxkv-ycsb writes for this key"
                                       : "the record is missing";
}

bool Connection::parse_replies(const ConnectionContext& context, std::uint64_t now_ns) {
  std::string_view input = in_.view();
  const std::size_t before = input.size();
  bool in_step = true;
  while (!input.empty() && in_step) {
    if (count_ == 0) {
      return false;  // a reply without a request
    }
    const Step step = context.wire.read_reply(ring_[head_], input, reply_);
    if (step.outcome == Outcome::error || step.outcome == Outcome::out_of_step) [[unlikely]] {
      note_refusal(input);
    }
    if (step.outcome == Outcome::wrong || step.outcome == Outcome::not_found) [[unlikely]] {
      note_failure(context, ring_[head_], step.outcome);
    }
    input.remove_prefix(step.consumed);
    if (step.outcome == Outcome::incomplete) {
      if (step.consumed == 0) {
        break;
      }
      continue;
    }
    in_step = step.outcome != Outcome::out_of_step;
    finish_front(context, step.outcome, now_ns, in_step);
  }
  in_.consume(before - input.size());
  return in_step;
}

void Connection::finish_front(const ConnectionContext& context, Outcome outcome, std::uint64_t now_ns,
                              bool sending) {
  Operation& operation = ring_[head_];  // its slot is free, but only its own next request may overwrite it
  head_ = head_ + 1 == ring_.size() ? 0 : head_ + 1;
  --count_;
  if (outcome == Outcome::follow_up) {
    operation.follow_up = true;
    push(context, operation);
    return;
  }
  if (sending && may_retry(context, operation, outcome)) {
    ++operation.retries;
    ++context.tally.retries;
    pause_ns_ = retry_pause_ns(context.workload.spec(), operation);
    operation.start_ns = now_ns + pause_ns_;
    push(context, operation);
    return;
  }
  KindTally& tally = context.tally.of(operation.kind);
  tally.record(outcome, now_ns - operation.start_ns);
  if (context.pacer.paced()) {
    // The update of a read-modify-write is due when its read is answered.
    tally.intended.record(now_ns - (operation.begin_ns != 0 ? operation.start_ns : operation.due_ns));
  }
  if (context.workload.spec().replay.trace != nullptr) {
    finish_of_trace(context, operation, outcome, now_ns, sending);
    return;
  }
  if (operation.kind == OperationKind::insert && !context.workload.spec().load) {
    context.workload.inserted().acknowledge(operation.record);  // a failed insert too, as in YCSB
  }
  if (!operation.modify) {
    return;
  }
  ++context.tally.halves;
  if (operation.kind == OperationKind::read && sending) {  // whatever the read returned, as in YCSB
    operation.kind = OperationKind::update;
    operation.begin_ns = operation.start_ns;
    operation.start_ns = now_ns;
    push(context, operation);
    return;
  }
  const std::uint64_t begin_ns =
      operation.kind == OperationKind::read ? operation.start_ns : operation.begin_ns;
  KindTally& whole = context.tally.of(OperationKind::read_modify_write);
  whole.record(outcome, now_ns - begin_ns);
  if (context.pacer.paced()) {
    whole.intended.record(now_ns - operation.due_ns);
  }
}

void Connection::finish_of_trace(const ConnectionContext& context, Operation& operation, Outcome outcome,
                                 std::uint64_t now_ns, bool sending) {
  if (operation.kind == OperationKind::insert) {
    ++context.tally.halves;
    return;
  }
  if (operation.kind != OperationKind::read) {
    return;
  }
  CacheFigures& cache = context.tally.cache;
  if (outcome == Outcome::ok) {
    ++cache.hits;
    cache.hit_bytes += operation.value_bytes;
  } else if (outcome == Outcome::not_found) {
    ++cache.misses;
    cache.miss_bytes += operation.value_bytes;
    if (sending && context.workload.spec().replay.fill_misses) {
      operation.kind = OperationKind::insert;
      operation.begin_ns = operation.start_ns;  // it is due when the miss is known
      operation.start_ns = now_ns;
      push(context, operation);
    }
  }
}

bool Connection::offer(const ConnectionContext& context, std::uint64_t now_ns) {
  if (count_ == ring_.size()) {
    return false;
  }
  auto operation = context.source.next();
  if (!operation) {
    return false;
  }
  operation->start_ns = now_ns;
  operation->due_ns = context.pacer.send(now_ns);
  push(context, *operation);
  return true;
}

bool Connection::may_retry(const ConnectionContext& context, const Operation& operation, Outcome outcome) {
  const WorkloadSpec& spec = context.workload.spec();
  return outcome == Outcome::error && spec.load && operation.kind == OperationKind::insert &&
         operation.retries < spec.insert_retries;
}

void Connection::fill(const ConnectionContext& context, std::uint64_t now_ns) {
  while (count_ < ring_.size()) {
    auto operation = context.source.next();
    if (!operation) {
      return;
    }
    operation->start_ns = now_ns;
    push(context, *operation);
  }
}

void Connection::push(const ConnectionContext& context, const Operation& operation) {
  context.wire.write_request(operation, out_, reply_);
  const std::size_t tail = head_ + count_;
  ring_[tail < ring_.size() ? tail : tail - ring_.size()] = operation;
  ++count_;
}

bool Connection::flush() {
  if (out_.empty()) {
    return true;
  }
  const std::string_view bytes = out_.view();
  const Socket::Transfer transfer = socket_.send(bytes.data(), bytes.size());
  out_.consume(transfer.bytes);
  return transfer.status != Socket::Status::closed;
}

void Connection::abandon(const ConnectionContext& context, std::uint64_t now_ns) {
  while (count_ > 0) {
    finish_front(context, Outcome::error, now_ns, false);
  }
}

}  // namespace mxkv::bench
