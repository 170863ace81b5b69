// redis as YCSB's binding uses it: a record is a hash of its fields, and a sorted set, "_indices", has every
// key with the Java hash code of the key as its score.
//
//   insert  HSET key field0 .. ; ZADD _indices score key      sent together, where YCSB waits in between
//   read    HGETALL key, or HGET key field
//   update  HSET key, all fields or one
//   scan    ZRANGEBYSCORE _indices score +inf LIMIT 0 n; then, with its reply, HGETALL (or HGET) of every key
//   found,
//           sent together, where YCSB sends one after the other
//
// So a scan's order is that of hash codes, not of keys: it is what YCSB measures, and no ordered range
// (redis_lex is). With strings in place of hashes: SET, GET, and MGET for a scan's records.
#include <string>

#include "bench/client/redis_multi_get.hpp"
#include "bench/client/resp_text.hpp"
#include "bench/client/wire.hpp"
#include "bench/workload/java_text.hpp"

namespace mxkv::bench {
namespace {

constexpr std::size_t kMaxFieldText = 64;  // a field's name and the text around name and value
constexpr std::string_view kIndex = "_indices";
constexpr std::string_view kFieldName = "field";

char* put_bulk_number(char* at, std::string_view before, std::uint64_t number) noexcept {
  char text[32];
  const char* const end = put_number(put(text, before), number);
  return put_bulk(at, {text, static_cast<std::size_t>(end - text)});
}

class RedisWire final : public Wire {
 public:
  RedisWire(const RecordShape& shape, const RedisOptions& options) : shape_(shape), options_(options) {}

  void write_request(const Operation& operation, ByteQueue& out, ReplyState& state) const override {
    if (operation.follow_up) {
      write_records_of_scan(operation, out, state);
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
        write_read(operation, key, out);
        break;
      case OperationKind::scan:
        write_scan(operation, key, out);
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
      return read_records_of_scan(operation, input, state);
    }
    switch (operation.kind) {
      case OperationKind::read:
        return read_record(operation.key_hash, operation.read_field, input, state);
      case OperationKind::scan:
        return read_keys_of_scan(operation, input, state);
      case OperationKind::multi_read:
        return read_redis_multi_get(shape_, operation, input, state);
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
  [[nodiscard]] bool one_field(std::uint32_t field) const noexcept {
    return options_.hashes && field != kAllFields;
  }

  void write_read(const Operation& operation, std::string_view key, ByteQueue& out) const {
    char* const begin = out.prepare(kMaxRespText + KeyFormat::kMaxBytes);
    out.commit(static_cast<std::size_t>(put_read(begin, operation.read_field, key) - begin));
  }

  char* put_read(char* at, std::uint32_t field, std::string_view key) const noexcept {
    if (one_field(field)) {
      return put_bulk_number(put_bulk(put_command(at, 3, "HGET"), key), kFieldName, field);
    }
    return put_bulk(put_command(at, 2, options_.hashes ? "HGETALL" : "GET"), key);
  }

  static void write_scan(const Operation& operation, std::string_view key, ByteQueue& out) {
    char* const begin = out.prepare(kMaxRespText);
    char* at = put_bulk(put_command(begin, 7, "ZRANGEBYSCORE"), kIndex);
    at = put_bulk(at, std::to_string(java_hash(key)));
    at = put(at, "$4\r\n+inf\r\n$5\r\nLIMIT\r\n$1\r\n0\r\n");
    at = put_bulk_number(at, "", operation.scan_length);
    out.commit(static_cast<std::size_t>(at - begin));
  }

  void write_record(const Operation& operation, std::string_view key, ByteQueue& out) const {
    const FieldFormat& fields = shape_.fields;
    char* const begin = out.prepare(kMaxRespText + 2 * KeyFormat::kMaxBytes + fields.most_record_bytes() +
                                    kMaxFieldText * fields.count());
    char* at = begin;
    if (!options_.hashes) {
      const std::size_t bytes = fields.record_bytes(operation.key_hash, operation.version);
      at = put_bulk_head(put_bulk(put_command(at, 3, "SET"), key), bytes);
      fields.write_record(operation.key_hash, operation.version, at, bytes);
      at = put(at + bytes, kLineEnd);
    } else {
      at = put_hash(operation, key, at);
    }
    if (operation.kind == OperationKind::insert && options_.indexed) {
      at = put_bulk(put_command(at, 4, "ZADD"), kIndex);
      at = put_bulk(put_bulk(at, std::to_string(java_hash(key))), key);
    }
    out.commit(static_cast<std::size_t>(at - begin));
  }

  char* put_hash(const Operation& operation, std::string_view key, char* at) const {
    const FieldFormat& fields = shape_.fields;
    const bool one = operation.kind == OperationKind::update && operation.update_field != kAllFields;
    const std::uint32_t first = one ? operation.update_field : 0;
    const std::uint32_t count = one ? 1 : fields.count();
    at = put_bulk(put_command(at, 2 + 2 * std::size_t{count}, "HSET"), key);
    const std::vector<std::size_t> bytes = fields.field_bytes(operation.key_hash, operation.version);
    for (std::uint32_t field = first; field < first + count; ++field) {
      at = put_bulk_head(put_bulk_number(at, kFieldName, field), bytes[field]);
      fields.write_field(operation.key_hash, operation.version, field, at, bytes[field]);
      at = put(at + bytes[field], kLineEnd);
    }
    return at;
  }

  void write_records_of_scan(const Operation& operation, ByteQueue& out, const ReplyState& state) const {
    const std::size_t count = state.to_read.groups.back();
    const auto& hashes = state.to_read.hashes;
    char* const begin = out.prepare(kMaxRespText + count * (kMaxRespText + KeyFormat::kMaxBytes));
    char* at = options_.hashes ? begin : put_command(begin, 1 + count, "MGET");
    for (std::size_t i = hashes.size() - count; i < hashes.size(); ++i) {
      char key_memory[KeyFormat::kMaxBytes];
      const std::string_view key(key_memory, shape_.keys.write(hashes[i], key_memory));
      at = options_.hashes ? put_read(at, operation.read_field, key) : put_bulk(at, key);
    }
    out.commit(static_cast<std::size_t>(at - begin));
  }

  /// The reply to a SET or an HSET, and behind an insert that to its ZADD.
  [[nodiscard]] Step read_written(const Operation& operation, std::string_view input,
                                  ReplyState& state) const noexcept {
    const auto line = first_line(input);
    if (!line) {
      return {};
    }
    const std::size_t bytes = line->size() + kLineEnd.size();
    const bool string = !options_.hashes && !state.started;
    const bool accepted =
        string ? *line == "+OK" : line->starts_with(':') && parse_number(line->substr(1)).has_value();
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

  /// One record: a bulk string, or a hash as an array of names and values.
  Step read_record(std::uint64_t key_hash, std::uint32_t field, std::string_view input,
                   ReplyState& state) const {
    if (options_.hashes && field == kAllFields) {
      return read_hash(key_hash, input, state);
    }
    const Bulk bulk = read_bulk(input);
    if (bulk.outcome != Outcome::ok) {
      return {bulk.bytes, bulk.outcome};
    }
    const bool right = options_.hashes ? shape_.fields.field_matches(key_hash, field, bulk.data)
                                       : shape_.fields.record_matches(key_hash, bulk.data);
    return {bulk.bytes, right ? Outcome::ok : Outcome::wrong};
  }

  /// The number of a field's name, or nothing.
  [[nodiscard]] std::optional<std::uint32_t> field_of(std::string_view name) const noexcept {
    if (!name.starts_with(kFieldName)) {
      return std::nullopt;
    }
    const auto number = parse_number(name.substr(kFieldName.size()));
    return number && *number < shape_.fields.count() ? std::optional(static_cast<std::uint32_t>(*number))
                                                     : std::nullopt;
  }

  /// A field at a time. A hash has no name twice, so that as many right fields as there are is all of them.
  Step read_hash(std::uint64_t key_hash, std::string_view input, ReplyState& state) const {
    if (!state.started) {
      const NumberLine head = read_number_line(input, '*');
      if (head.outcome != Outcome::ok) {
        return {head.bytes, head.outcome};
      }
      if (head.number == 0) {
        return {head.bytes, Outcome::not_found};
      }
      state.started = true;
      state.right = head.number == 2 * std::uint64_t{shape_.fields.count()};
      state.parts = head.number;
      return {head.bytes, Outcome::incomplete};
    }
    const Bulk name = read_bulk(input);
    const Bulk value = name.outcome == Outcome::ok ? read_bulk(input.substr(name.bytes)) : Bulk{};
    if (name.outcome == Outcome::incomplete ||
        (name.outcome == Outcome::ok && value.outcome == Outcome::incomplete)) {
      return {};
    }
    if (name.outcome != Outcome::ok || value.outcome != Outcome::ok) {
      return {0, Outcome::out_of_step};
    }
    const auto field = field_of(name.data);
    state.right = state.right && field && shape_.fields.field_matches(key_hash, *field, value.data);
    state.parts -= 2;
    const std::size_t bytes = name.bytes + value.bytes;
    if (state.parts > 1) {
      return {bytes, Outcome::incomplete};
    }
    const bool right = state.right && state.parts == 0;
    state.started = false;
    state.right = true;
    return {bytes, right ? Outcome::ok : Outcome::wrong};
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

  /// The records of the oldest scan that waits for its own: one MGET's reply, or a reply for each.
  Step read_records_of_scan(const Operation& operation, std::string_view input, ReplyState& state) const {
    RecordsToRead& to_read = state.to_read;
    if (!options_.hashes && !to_read.started) {
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
    const Step step = read_record(to_read.hashes.front(), operation.read_field, input, state);
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
