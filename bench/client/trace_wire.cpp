// The requests of a trace, in memcached's classic protocol or redis's.
//
//   trace                memcached, mxkv          redis
//   get, gets            the same                 GET
//   set, cas             set                      SET .. EX ttl      the trace has no unique number for a cas
//   add, replace         the same                 SET .. NX, SET .. XX
//   append, prepend      the same                 APPEND             redis has no prepend; the bytes are as many
//   delete               the same                 DEL
//   incr, decr           the same, by 1           INCR, DECR
//
// A value follows from its key and length, so reads are verified, except where other requests than sets made the
// value. An answer such as NOT_STORED is right, because the cache decides which items it holds.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "bench/client/memcached_text.hpp"
#include "bench/client/resp_text.hpp"
#include "bench/client/text.hpp"
#include "bench/client/wire.hpp"
#include "bench/workload/keys.hpp"
#include "bench/workload/trace.hpp"
#include "bench/workload/values.hpp"

namespace mxkv::bench {
namespace {

constexpr std::size_t kMaxText = kMaxRespText;  // all of a request but key and value
constexpr std::size_t kMostDigits = 19;         // of a number that servers increment

/// The same in every run: values that another run of the client stored are right.
std::uint64_t hash_of(std::string_view key) noexcept {
  return std::accumulate(key.begin(), key.end(), kFnvBegin, [](std::uint64_t hash, char byte) {
    return fnv_with(hash, static_cast<unsigned char>(byte));
  });
}

/// Keys and values of a trace, whatever the protocol.
class TraceWire : public Wire {
 public:
  explicit TraceWire(const Trace& trace) : trace_(trace) {}

 protected:
  [[nodiscard]] const TraceRequest& request(const Operation& operation) const noexcept {
    return trace_[operation.record];
  }
  /// The action to send: a set for the fill of a miss.
  [[nodiscard]] TraceAction action(const Operation& operation) const noexcept {
    return operation.kind == OperationKind::insert ? TraceAction::set : request(operation).action;
  }
  [[nodiscard]] std::string_view key(const Operation& operation) const noexcept {
    return trace_.keys()[request(operation).key];
  }
  [[nodiscard]] std::size_t value_bytes(const Operation& operation) const noexcept {
    const std::size_t bytes = operation.value_bytes;
    return trace_.keys().counter(request(operation).key) ? std::clamp<std::size_t>(bytes, 1, kMostDigits)
                                                         : bytes;
  }
  /// Writes the value; returns the place after it.
  char* put_value(const Operation& operation, char* at) const noexcept {
    const std::size_t bytes = value_bytes(operation);
    if (trace_.keys().counter(request(operation).key)) {
      std::memset(at, '1', bytes);
    } else {
      write_value(hash_of(key(operation)), operation.record, at, bytes);
    }
    return at + bytes;
  }
  [[nodiscard]] Outcome check_value(const Operation& operation, std::string_view value) const noexcept {
    const bool right = trace_.keys().opaque(request(operation).key) ||
                       value_matches(hash_of(key(operation)), value, value.size());
    return right ? Outcome::ok : Outcome::wrong;
  }

 private:
  const Trace& trace_;
};

class MemcachedTraceWire final : public TraceWire {
 public:
  using TraceWire::TraceWire;

  void write_request(const Operation& operation, ByteQueue& out, ReplyState& /*state*/) const override {
    const TraceAction wanted = action(operation);
    const std::string_view name = key(operation);
    char* const begin = out.prepare(kMaxText + name.size() + value_bytes(operation));
    char* at = put(put(begin, verb_of(wanted)), name);
    if (wanted == TraceAction::incr || wanted == TraceAction::decr) {
      at = put(at, " 1");
    } else if (stores(wanted)) {
      at = put_number(put(at, " 0 "), request(operation).ttl_s);
      at = put(put_number(put(at, " "), value_bytes(operation)), kLineEnd);
      at = put_value(operation, at);
    }
    out.commit(static_cast<std::size_t>(put(at, kLineEnd) - begin));
  }

  Step read_reply(const Operation& operation, std::string_view input, ReplyState& /*state*/) const override {
    const TraceAction wanted = action(operation);
    if (operation.kind == OperationKind::read && input.starts_with(kValue)) {
      return read_value(operation, input);
    }
    const auto line = first_line(input);
    if (!line) {
      return {};
    }
    const std::size_t bytes = line->size() + kLineEnd.size();
    if (operation.kind == OperationKind::read) {
      return *line == "END" ? Step{bytes, Outcome::not_found} : read_refusal(input);
    }
    const bool counts = wanted == TraceAction::incr || wanted == TraceAction::decr;
    if (*line == "NOT_FOUND" && (counts || wanted == TraceAction::remove)) {
      return {bytes, Outcome::not_found};
    }
    const bool right = stores(wanted) ? *line == "STORED" || (*line == "NOT_STORED" && may_decline(wanted))
                       : counts       ? parse_number(line->substr(0, line->find(' '))).has_value()
                                      : *line == "DELETED";
    return right ? Step{bytes, Outcome::ok} : read_refusal(input);
  }

 private:
  static bool stores(TraceAction action) noexcept {
    return action == TraceAction::set || action == TraceAction::cas || may_decline(action);
  }
  static bool may_decline(TraceAction action) noexcept {
    return action == TraceAction::add || action == TraceAction::replace || action == TraceAction::append ||
           action == TraceAction::prepend;
  }
  static std::string_view verb_of(TraceAction action) noexcept {
    switch (action) {
      case TraceAction::get:
        return "get ";
      case TraceAction::gets:
        return "gets ";
      case TraceAction::set:
      case TraceAction::cas:
        break;
      case TraceAction::add:
        return "add ";
      case TraceAction::replace:
        return "replace ";
      case TraceAction::append:
        return "append ";
      case TraceAction::prepend:
        return "prepend ";
      case TraceAction::remove:
        return "delete ";
      case TraceAction::incr:
        return "incr ";
      case TraceAction::decr:
        return "decr ";
    }
    return "set ";
  }

  Step read_value(const Operation& operation, std::string_view input) const {
    const Item item = read_only_item(input);
    if (item.status != Item::Status::complete) {
      return unread(item);
    }
    return {item.bytes, item.key == key(operation) ? check_value(operation, item.data) : Outcome::wrong};
  }
};

class RedisTraceWire final : public TraceWire {
 public:
  using TraceWire::TraceWire;

  void write_request(const Operation& operation, ByteQueue& out, ReplyState& /*state*/) const override {
    const std::string_view name = key(operation);
    char* const begin = out.prepare(kMaxText + name.size() + value_bytes(operation));
    out.commit(static_cast<std::size_t>(put_request(operation, name, begin) - begin));
  }

  Step read_reply(const Operation& operation, std::string_view input, ReplyState& /*state*/) const override {
    if (operation.kind == OperationKind::read) {
      const Bulk bulk = read_bulk(input);
      return {bulk.bytes, bulk.outcome == Outcome::ok ? check_value(operation, bulk.data) : bulk.outcome};
    }
    const auto line = first_line(input);
    if (!line) {
      return {};
    }
    const std::size_t bytes = line->size() + kLineEnd.size();
    if (line->starts_with('-')) {
      return {bytes, Outcome::error};
    }
    if (operation.kind == OperationKind::remove && *line == ":0") {
      return {bytes, Outcome::not_found};
    }
    const bool right = *line == "+OK" || *line == "$-1" || line->starts_with(':');
    return {bytes, right ? Outcome::ok : Outcome::out_of_step};
  }

 private:
  char* put_request(const Operation& operation, std::string_view name, char* at) const {
    switch (action(operation)) {
      case TraceAction::get:
      case TraceAction::gets:
        return put_bulk(put_command(at, 2, "GET"), name);
      case TraceAction::remove:
        return put_bulk(put_command(at, 2, "DEL"), name);
      case TraceAction::incr:
        return put_bulk(put_command(at, 2, "INCR"), name);
      case TraceAction::decr:
        return put_bulk(put_command(at, 2, "DECR"), name);
      case TraceAction::append:
      case TraceAction::prepend:
        return put_data(operation, put_bulk(put_command(at, 3, "APPEND"), name));
      case TraceAction::add:
        return put_set(operation, name, "NX", at);
      case TraceAction::replace:
        return put_set(operation, name, "XX", at);
      case TraceAction::set:
      case TraceAction::cas:
        break;
    }
    return put_set(operation, name, "", at);
  }

  char* put_set(const Operation& operation, std::string_view name, std::string_view condition,
                char* at) const {
    const std::uint32_t ttl_s = request(operation).ttl_s;
    at = put_command(at, 3 + (condition.empty() ? 0 : 1) + (ttl_s == 0 ? 0 : 2), "SET");
    at = put_data(operation, put_bulk(at, name));
    if (!condition.empty()) {
      at = put_bulk(at, condition);
    }
    if (ttl_s != 0) {
      char digits[20];
      const char* const end = put_number(digits, ttl_s);
      at = put_bulk(put_bulk(at, "EX"), {digits, static_cast<std::size_t>(end - digits)});
    }
    return at;
  }

  char* put_data(const Operation& operation, char* at) const {
    return put(put_value(operation, put_bulk_head(at, value_bytes(operation))), kLineEnd);
  }
};

}  // namespace

std::unique_ptr<Wire> make_trace_wire(const Trace& trace, bool redis) {
  if (redis) {
    return std::make_unique<RedisTraceWire>(trace);
  }
  return std::make_unique<MemcachedTraceWire>(trace);
}

}  // namespace mxkv::bench
