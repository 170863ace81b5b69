// redis's protocol (RESP2), for comparisons: strings by GET and SET, or ranges in one sorted set.
//
// A sorted set whose members all have score 0 is ordered by the member's bytes, so the fastest ordered range
// redis offers is ZRANGEBYLEX over members that carry their value: "<key> <value>". The space sorts before
// every digit, so the members come in key order. Updating a member would need a removal first: not offered.
#include <string>

#include "bench/client/text.hpp"
#include "bench/client/wire.hpp"
#include "bench/workload/values.hpp"

namespace mxkv::bench {
namespace {

constexpr std::size_t kMaxRequestText = 192;  // all of a request but keys and value
constexpr std::string_view kSetName = "mxkv";

/// A bulk string "$<bytes>\r\n<data>\r\n" at the front of the input.
struct Bulk {
  Outcome outcome = Outcome::incomplete;  // ok, or why not
  std::string_view data;
  std::size_t bytes = 0;  // of the whole
};

/// A line "<type><number>\r\n".
struct NumberLine {
  Outcome outcome = Outcome::incomplete;
  std::uint64_t number = 0;
  std::size_t bytes = 0;
};

/// A line of another type: the server's error, or nonsense.
NumberLine other_line(std::string_view line, std::size_t bytes) noexcept {
  return {line.starts_with('-') ? Outcome::error : Outcome::out_of_step, 0, bytes};
}

NumberLine read_number_line(std::string_view input, char type) noexcept {
  const auto line = first_line(input);
  if (!line) {
    return {};
  }
  const std::size_t bytes = line->size() + kLineEnd.size();
  if (!line->starts_with(type)) {
    return other_line(*line, bytes);
  }
  if (line->substr(1) == "-1") {
    return {Outcome::not_found, 0, bytes};
  }
  const auto number = parse_number(line->substr(1));
  return {number ? Outcome::ok : Outcome::out_of_step, number.value_or(0), bytes};
}

Bulk read_bulk(std::string_view input) noexcept {
  const NumberLine head = read_number_line(input, '$');
  if (head.outcome != Outcome::ok) {
    return {head.outcome, {}, head.bytes};
  }
  const std::size_t whole = head.bytes + head.number + kLineEnd.size();
  if (input.size() < whole) {
    return {};
  }
  if (input.substr(whole - kLineEnd.size(), kLineEnd.size()) != kLineEnd) {
    return {Outcome::out_of_step, {}, 0};
  }
  return {Outcome::ok, input.substr(head.bytes, head.number), whole};
}

/// Writes "$<bytes>\r\n"; the data and a line end follow.
char* put_bulk_head(char* at, std::size_t bytes) noexcept {
  *at++ = '$';
  return put(put_number(at, bytes), kLineEnd);
}

char* put_bulk(char* at, std::string_view data) noexcept {
  return put(put(put_bulk_head(at, data.size()), data), kLineEnd);
}

class RespWire final : public Wire {
 public:
  explicit RespWire(const RecordShape& shape) : shape_(shape) {}

  void write_request(const Operation& operation, ByteQueue& out) const override {
    char key[KeyFormat::kMaxBytes];
    const std::string_view key_text(key, shape_.keys.write(operation.key_hash, key));
    char* const begin = out.prepare(kMaxRequestText + KeyFormat::kMaxBytes + shape_.value_bytes);
    char* at = begin;
    if (operation.kind == OperationKind::read) {
      at = put_bulk(put(at, "*2\r\n$3\r\nGET\r\n"), key_text);
    } else {
      at = put_bulk(put(at, "*3\r\n$3\r\nSET\r\n"), key_text);
      at = put_bulk_head(at, shape_.value_bytes);
      write_value(operation.key_hash, operation.version, at, shape_.value_bytes);
      at = put(at + shape_.value_bytes, kLineEnd);
    }
    out.commit(static_cast<std::size_t>(at - begin));
  }

  Step read_reply(const Operation& operation, std::string_view input, ReplyState&) const override {
    if (operation.kind != OperationKind::read) {
      constexpr std::string_view kOk = "+OK\r\n";
      if (input.starts_with(kOk)) {
        return {kOk.size(), Outcome::ok};
      }
      const auto line = first_line(input);
      return line ? Step{line->size() + kLineEnd.size(), other_line(*line, 0).outcome} : Step{};
    }
    const Bulk bulk = read_bulk(input);
    if (bulk.outcome != Outcome::ok) {
      return {bulk.bytes, bulk.outcome};
    }
    const bool right = value_matches(operation.key_hash, bulk.data, shape_.value_bytes);
    return {bulk.bytes, right ? Outcome::ok : Outcome::wrong};
  }

 private:
  RecordShape shape_;
};

class RespZsetWire final : public Wire {
 public:
  explicit RespZsetWire(const RecordShape& shape) : shape_(shape) {}

  void write_request(const Operation& operation, ByteQueue& out) const override {
    char key[KeyFormat::kMaxBytes];
    const std::string_view key_text(key, shape_.keys.write(operation.key_hash, key));
    char* const begin = out.prepare(kMaxRequestText + KeyFormat::kMaxBytes + shape_.value_bytes);
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
      at = put_bulk_head(put(at, "$1\r\n0\r\n"), key_text.size() + 1 + shape_.value_bytes);
      at = put(at, key_text);
      *at++ = ' ';
      write_value(operation.key_hash, operation.version, at, shape_.value_bytes);
      at = put(at + shape_.value_bytes, kLineEnd);
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
  Step read_range(const Operation& operation, std::string_view input, ReplyState& state) const noexcept {
    ScanCheck& check = state.scan;
    const LoadedKeys& loaded = *shape_.loaded;
    std::size_t consumed = 0;
    if (!check.started()) {
      const NumberLine head = read_number_line(input, '*');
      if (head.outcome != Outcome::ok) {
        return {head.bytes, head.outcome};
      }
      check.begin(loaded, operation);
      state.announced = head.number;
      consumed = head.bytes;
    } else {
      const Bulk member = read_bulk(input);
      if (member.outcome != Outcome::ok) {
        return {member.bytes,
                member.outcome == Outcome::incomplete ? Outcome::incomplete : Outcome::out_of_step};
      }
      const std::size_t key_end = member.data.find(' ');
      const auto hash = shape_.keys.parse(member.data.substr(0, key_end));
      if (!hash || key_end == std::string_view::npos ||
          !value_matches(*hash, member.data.substr(key_end + 1), shape_.value_bytes)) {
        check.reject();
      }
      check.accept(loaded, operation, hash.value_or(0));
      --state.announced;
      consumed = member.bytes;
    }
    if (state.announced > 0) {
      return {consumed, Outcome::incomplete};
    }
    const bool none = check.records() == 0;
    const bool right = check.finish(loaded, operation, false);
    return {consumed, right ? Outcome::ok : (none ? Outcome::not_found : Outcome::wrong)};
  }

  RecordShape shape_;
};

}  // namespace

std::unique_ptr<Wire> make_resp_wire(const RecordShape& shape) {
  return std::make_unique<RespWire>(shape);
}
std::unique_ptr<Wire> make_resp_zset_wire(const RecordShape& shape) {
  return std::make_unique<RespZsetWire>(shape);
}

}  // namespace mxkv::bench
