// redis as YCSB's binding uses it with strings: a record is a string of its fields, and a sorted set, "_indices",
// has every key with the Java hash code of the key as its score.
//
//   insert  SET key record; ZADD _indices score key      sent together, where YCSB waits in between
//   read    GET key
//   update  SET key record                               with a time to live: SET key record EX seconds
//   delete  DEL key; ZREM _indices key
//   scan    ZRANGEBYSCORE _indices score +inf LIMIT 0 n; then, with its reply, MGET of every key found
//
// So a scan returns keys in the order of hash codes, not of keys. YCSB measures this; it is no ordered range
// (redis_lex is).
#include <string>

#include "bench/client/redis_multi_get.hpp"
#include "bench/client/resp_text.hpp"
#include "bench/client/wire.hpp"
#include "bench/workload/java_text.hpp"

namespace mxkv::bench {
namespace {

constexpr std::string_view kIndex = "_indices";

char* put_bulk_number(char* at, std::uint64_t number) noexcept {
  char text[32];
  const char* const end = put_number(text, number);
  return put_bulk(at, {text, static_cast<std::size_t>(end - text)});
}

class RedisWire final : public Wire {
 public:
  RedisWire(const RecordShape& shape, const RedisOptions& options) : shape_(shape), options_(options) {}

  void write_request(const Operation& operation, ByteQueue& out, ReplyState& state) const override {
    if (operation.follow_up) {
      write_records_of_scan(out, state);
      return;
    }
    if (operation.kind == OperationKind::multi_read) {
      write_redis_multi_get(shape_, operation, out);
      return;
    }
    char key_memory[KeyFormat::kMaxBytes];
    const std::string_view key(key_memory, shape_.keys.write(operation.key_hash, key_memory));
    switch (operation.kind) {
      case OperationKind::read:
        write_read(key, out);
        break;
      case OperationKind::scan:
        write_scan(operation, key, out);
        break;
      case OperationKind::remove:
        write_removal(key, out);
        break;
      case OperationKind::update:
      case OperationKind::insert:
      case OperationKind::multi_read:         // is written already
      case OperationKind::read_modify_write:  // sent as its read and its update
      case OperationKind::locked_scan:        // and these are for mxkv alone
      case OperationKind::locked_touch:
      case OperationKind::batch:
        write_record(operation, key, out);
        break;
    }
  }

  Step read_reply(const Operation& operation, std::string_view input, ReplyState& state) const override {
    if (operation.follow_up) {
      return read_records_of_scan(input, state);
    }
    switch (operation.kind) {
      case OperationKind::read:
        return read_record(operation.key_hash, input);
      case OperationKind::scan:
        return read_keys_of_scan(operation, input, state);
      case OperationKind::multi_read:
        return read_redis_multi_get(shape_, operation, input, state);
      case OperationKind::remove:
        return read_removed(input, state);
      case OperationKind::update:
      case OperationKind::insert:
      case OperationKind::read_modify_write:
      case OperationKind::locked_scan:
      case OperationKind::locked_touch:
      case OperationKind::batch:
        break;
    }
    return read_written(operation, input, state);
  }

 private:
  static void write_read(std::string_view key, ByteQueue& out) {
    char* const begin = out.prepare(kMaxRespText + KeyFormat::kMaxBytes);
    out.commit(static_cast<std::size_t>(put_bulk(put_command(begin, 2, "GET"), key) - begin));
  }

  static void write_scan(const Operation& operation, std::string_view key, ByteQueue& out) {
    char* const begin = out.prepare(kMaxRespText);
    char* at = put_bulk(put_command(begin, 7, "ZRANGEBYSCORE"), kIndex);
    at = put_bulk(at, std::to_string(java_hash(key)));
    at = put(at, "$4\r\n+inf\r\n$5\r\nLIMIT\r\n$1\r\n0\r\n");
    at = put_bulk_number(at, operation.scan_length);
    out.commit(static_cast<std::size_t>(at - begin));
  }

  void write_record(const Operation& operation, std::string_view key, ByteQueue& out) const {
    const FieldFormat& fields = shape_.fields;
    char* const begin = out.prepare(kMaxRespText + 2 * KeyFormat::kMaxBytes + fields.most_record_bytes());
    const std::size_t bytes = fields.record_bytes(operation.key_hash, operation.version);
    char* at = put_bulk_head(put_bulk(put_command(begin, shape_.ttl_s != 0 ? 5 : 3, "SET"), key), bytes);
    fields.write_record(operation.key_hash, operation.version, at, bytes);
    at = put(at + bytes, kLineEnd);
    if (shape_.ttl_s != 0) {
      at = put_bulk_number(put_bulk(at, "EX"), shape_.ttl_s);
    }
    if (operation.kind == OperationKind::insert && options_.indexed) {
      at = put_bulk(put_command(at, 4, "ZADD"), kIndex);
      at = put_bulk(put_bulk(at, std::to_string(java_hash(key))), key);
    }
    out.commit(static_cast<std::size_t>(at - begin));
  }

  void write_removal(std::string_view key, ByteQueue& out) const {
    char* const begin = out.prepare(kMaxRespText + 2 * KeyFormat::kMaxBytes);
    char* at = put_bulk(put_command(begin, 2, "DEL"), key);
    if (options_.indexed) {
      at = put_bulk(put_bulk(put_command(at, 3, "ZREM"), kIndex), key);
    }
    out.commit(static_cast<std::size_t>(at - begin));
  }

  /// Reads the reply to a DEL, and the reply to its ZREM, whose number does not matter.
  [[nodiscard]] Step read_removed(std::string_view input, ReplyState& state) const noexcept {
    const NumberLine reply = read_number_line(input, ':');
    if (reply.outcome == Outcome::incomplete || reply.outcome == Outcome::out_of_step) {
      return {reply.bytes, reply.outcome};
    }
    if (!state.started) {
      state.missing = reply.number == 0;
      state.right = reply.outcome == Outcome::ok;
      if (options_.indexed) {
        state.started = true;
        return {reply.bytes, Outcome::incomplete};
      }
    }
    const bool right = state.right && reply.outcome == Outcome::ok;
    const Outcome outcome = !right ? Outcome::error : (state.missing ? Outcome::not_found : Outcome::ok);
    state.started = false;
    state.right = true;
    state.missing = false;
    return {reply.bytes, outcome};
  }

  void write_records_of_scan(ByteQueue& out, const ReplyState& state) const {
    const std::size_t count = state.to_read.groups.back();
    const auto& hashes = state.to_read.hashes;
    char* const begin = out.prepare(kMaxRespText + count * (kMaxRespText + KeyFormat::kMaxBytes));
    char* at = put_command(begin, 1 + count, "MGET");
    for (std::size_t i = hashes.size() - count; i < hashes.size(); ++i) {
      char key_memory[KeyFormat::kMaxBytes];
      const std::string_view key(key_memory, shape_.keys.write(hashes[i], key_memory));
      at = put_bulk(at, key);
    }
    out.commit(static_cast<std::size_t>(at - begin));
  }

  /// Reads the reply to a SET, and for an insert the reply to its ZADD.
  [[nodiscard]] Step read_written(const Operation& operation, std::string_view input,
                                  ReplyState& state) const noexcept {
    const auto line = first_line(input);
    if (!line) {
      return {};
    }
    const std::size_t bytes = line->size() + kLineEnd.size();
    const bool accepted =
        !state.started ? *line == "+OK" : line->starts_with(':') && parse_number(line->substr(1)).has_value();
    if (!accepted && !line->starts_with('-')) {
      return {bytes, Outcome::out_of_step};
    }
    const bool right = accepted && state.right;
    if (operation.kind == OperationKind::insert && options_.indexed && !state.started) {
      state.started = true;
      state.right = right;
      return {bytes, Outcome::incomplete};
    }
    state.started = false;
    state.right = true;
    return {bytes, right ? Outcome::ok : Outcome::error};
  }

  [[nodiscard]] Step read_record(std::uint64_t key_hash, std::string_view input) const {
    const Bulk bulk = read_bulk(input);
    if (bulk.outcome != Outcome::ok) {
      return {bulk.bytes, bulk.outcome};
    }
    return {bulk.bytes, shape_.fields.record_matches(key_hash, bulk.data) ? Outcome::ok : Outcome::wrong};
  }

  Step read_keys_of_scan(const Operation& operation, std::string_view input, ReplyState& state) const {
    Step step;
    if (state.scan.started()) {
      step = read_key(operation, input, state);
    } else {
      step = read_scan_head(operation, input, *shape_.loaded, state);
      if (state.scan.started()) {
        state.to_read.groups.push_back(0);
      }
    }
    return ends_scan(step, state) ? Step{step.consumed, finish_keys(operation, state)} : step;
  }

  Step read_key(const Operation& operation, std::string_view input, ReplyState& state) const {
    const Bulk key = read_bulk(input);
    if (key.outcome == Outcome::ok) {
      const auto hash = shape_.keys.parse(key.data);
      if (!hash) {
        state.scan.reject();
      }
      state.scan.accept(*shape_.loaded, operation, hash.value_or(0));
      state.to_read.hashes.push_back(hash.value_or(0));
      ++state.to_read.groups.back();
      --state.announced;
      return {key.bytes, Outcome::incomplete};
    }
    return {key.bytes, key.outcome == Outcome::incomplete ? Outcome::incomplete : Outcome::out_of_step};
  }

  Outcome finish_keys(const Operation& operation, ReplyState& state) const {
    const bool none = state.scan.records() == 0;
    if (state.scan.finish(*shape_.loaded, operation, false)) {
      return Outcome::follow_up;
    }
    RecordsToRead& to_read = state.to_read;
    to_read.hashes.resize(to_read.hashes.size() - to_read.groups.back());
    to_read.groups.pop_back();
    return none ? Outcome::not_found : Outcome::wrong;
  }

  /// Reads the records of the oldest scan that waits for them.
  Step read_records_of_scan(std::string_view input, ReplyState& state) const {
    RecordsToRead& to_read = state.to_read;
    if (!to_read.started) {
      const NumberLine head = read_number_line(input, '*');
      if (head.outcome == Outcome::incomplete) {
        return {};
      }
      if (head.outcome != Outcome::ok || head.number != to_read.groups.front()) {
        return {head.bytes, Outcome::out_of_step};
      }
      to_read.started = true;
      return {head.bytes, Outcome::incomplete};
    }
    const Step step = read_record(to_read.hashes.front(), input);
    if (step.outcome == Outcome::incomplete || step.outcome == Outcome::out_of_step) {
      return step;
    }
    to_read.hashes.pop_front();
    to_read.outcome = to_read.outcome == Outcome::ok ? step.outcome : to_read.outcome;
    if (--to_read.groups.front() > 0) {
      return {step.consumed, Outcome::incomplete};
    }
    to_read.groups.pop_front();
    const Outcome outcome = to_read.outcome;
    to_read.outcome = Outcome::ok;
    to_read.started = false;
    return {step.consumed, outcome};
  }

  RecordShape shape_;
  RedisOptions options_;
};

}  // namespace

std::unique_ptr<Wire> make_redis_wire(const RecordShape& shape, const RedisOptions& options) {
  return std::make_unique<RedisWire>(shape, options);
}

}  // namespace mxkv::bench
