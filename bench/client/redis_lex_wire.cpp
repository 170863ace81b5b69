// redis's fastest ordered range: one sorted set whose members carry their values.
//
// A sorted set whose members all have score 0 is ordered by the member's bytes, so ZRANGEBYLEX over members
// "<key> <value>" gives records in key order: the space sorts before every digit. There are no updates,
// because a member would have to be removed first.
#include "bench/client/resp_text.hpp"
#include "bench/client/wire.hpp"

namespace mxkv::bench {
namespace {

constexpr std::size_t kMaxLexText = 192;  // all of a request but keys and value
constexpr std::string_view kSetName = "mxkv";

class RedisLexWire final : public Wire {
 public:
  explicit RedisLexWire(const RecordShape& shape) : shape_(shape) {}

  void write_request(const Operation& operation, ByteQueue& out, ReplyState& /*state*/) const override {
    char key[KeyFormat::kMaxBytes];
    const std::string_view key_text(key, shape_.keys.write(operation.key_hash, key));
    char* const begin = out.prepare(kMaxLexText + KeyFormat::kMaxBytes + shape_.fields.most_record_bytes());
    char* at = begin;
    if (operation.kind == OperationKind::scan) {
      at = put_bulk(put(at, "*7\r\n$11\r\nZRANGEBYLEX\r\n"), kSetName);
      at = put_bulk_head(at, 1 + key_text.size());
      *at++ = '[';
      at = put(put(at, key_text), "\r\n$1\r\n+\r\n$5\r\nLIMIT\r\n$1\r\n0\r\n");
      char count[20];
      const char* count_end = put_number(count, operation.scan_length);
      at = put_bulk(at, {count, static_cast<std::size_t>(count_end - count)});
    } else {
      at = put_bulk(put(at, "*4\r\n$4\r\nZADD\r\n"), kSetName);
      const std::size_t bytes = shape_.fields.record_bytes(operation.key_hash, operation.version);
      at = put_bulk_head(put(at, "$1\r\n0\r\n"), key_text.size() + 1 + bytes);
      at = put(at, key_text);
      *at++ = ' ';
      shape_.fields.write_record(operation.key_hash, operation.version, at, bytes);
      at = put(at + bytes, kLineEnd);
    }
    out.commit(static_cast<std::size_t>(at - begin));
  }

  Step read_reply(const Operation& operation, std::string_view input, ReplyState& state) const override {
    if (operation.kind == OperationKind::scan) {
      return read_range(operation, input, state);
    }
    const NumberLine added = read_number_line(input, ':');
    return {added.bytes, added.outcome};
  }

 private:
  Step read_range(const Operation& operation, std::string_view input, ReplyState& state) const {
    ScanCheck& check = state.scan;
    const Step step = check.started() ? read_member(operation, input, state)
                                      : read_scan_head(operation, input, *shape_.loaded, state);
    if (!ends_scan(step, state)) {
      return step;
    }
    const bool none = check.records() == 0;
    const bool right = check.finish(*shape_.loaded, operation, false);
    return {step.consumed, right ? Outcome::ok : (none ? Outcome::not_found : Outcome::wrong)};
  }

  Step read_member(const Operation& operation, std::string_view input, ReplyState& state) const {
    const Bulk member = read_bulk(input);
    if (member.outcome != Outcome::ok) {
      return {member.bytes,
              member.outcome == Outcome::incomplete ? Outcome::incomplete : Outcome::out_of_step};
    }
    const std::size_t key_end = member.data.find(' ');
    const auto hash = shape_.keys.parse(member.data.substr(0, key_end));
    if (!hash || key_end == std::string_view::npos ||
        !shape_.fields.record_matches(*hash, member.data.substr(key_end + 1))) {
      state.scan.reject();
    }
    state.scan.accept(*shape_.loaded, operation, hash.value_or(0));
    --state.announced;
    return {member.bytes, Outcome::incomplete};
  }

  RecordShape shape_;
};

}  // namespace

std::unique_ptr<Wire> make_redis_lex_wire(const RecordShape& shape) {
  return std::make_unique<RedisLexWire>(shape);
}

}  // namespace mxkv::bench
